// The promises of the provider, over fakes of podman, the agent and the watchdog.
#include "src/functions/provider/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/provider/test_machine.h"
#include "src/platform/base/random.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(ProviderTest, ACallStartsAReplicaWithAGpuAndIsAnswered) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  EXPECT_EQ(machine.podman.containers(), 0U);
  const http::Response answer = machine.Call("hi");
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.body, "hi");
  EXPECT_EQ(answer.headers.Find("X-Handler"), "yes");
  EXPECT_TRUE(answer.headers.Find("X-Call-Id").has_value());
  EXPECT_THAT(machine.podman.Devices(), UnorderedElementsAre("kgpu.dev/gpu=GPU-a"));
  EXPECT_EQ(machine.agent.free(), 1U);
}

TEST(ProviderTest, IdleReplicasEndAndReturnTheirGpus) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Call("hi").code, 200);
  machine.Advance(minutes(4));
  EXPECT_EQ(machine.podman.containers(), 1U);
  machine.Advance(minutes(2));
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.Call("again").body, "again");
}

TEST(ProviderTest, TheMinimumRunsWithoutACallAndIsRestored) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(2));
  machine.podman.KillAll();
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 2 && machine.podman.runs() == 4; }));
  EXPECT_THAT(machine.podman.Devices(),
              UnorderedElementsAre("kgpu.dev/gpu=GPU-a", "kgpu.dev/gpu=GPU-b"));
}

TEST(ProviderTest, CallsBeyondTheConcurrencyStartMoreReplicasThenWait) {
  TestMachine machine;
  std::vector<http::Responder> held;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  std::array<std::optional<http::Response>, 3> answers;
  std::array<std::unique_ptr<http::Call>, answers.size()> calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    calls.at(i) = machine.Begin({.method = "POST", .target = "/function/hello"}, answers.at(i));
  }
  ASSERT_TRUE(machine.Until([&] { return held.size() == 2; }));
  EXPECT_EQ(machine.podman.containers(), 2U);
  EXPECT_EQ(machine.provider->FindPool("hello")->waiting(), 1);
  held[0].Send(http::TextResponse(200, "done"));
  ASSERT_TRUE(machine.Until([&] { return held.size() == 3; }));
  held[1].Send(http::TextResponse(200, "done"));
  held[2].Send(http::TextResponse(200, "done"));
  ASSERT_TRUE(machine.Until([&] { return answers[0] && answers[1] && answers[2]; }));
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.value_or(http::Response()).code, 200);
  }
  EXPECT_EQ(machine.podman.runs(), 2);
}

TEST(ProviderTest, AFunctionThatCanNeverHaveItsGpusIsRefused) {
  TestMachine machine;
  Function function = HelloFunction();
  function.gpu.count = 3;
  EXPECT_THAT(machine.Deploy(function),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("3 GPUs cannot be provided"), HasSubstr("fewer GPUs"))));
  EXPECT_EQ(machine.provider->Find("hello"), nullptr);
  EXPECT_THAT(machine.agent.Holders(), IsEmpty());
}

TEST(ProviderTest, WithoutAnAgentAFunctionWithGpusIsRefusedAndNeverRunsWithoutThem) {
  TestMachine machine;
  machine.agent.Stop();
  EXPECT_THAT(machine.Deploy(HelloFunction()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no agent answers")));
  Function without = HelloFunction();
  without.gpu.count = 0;
  ASSERT_OK(machine.Deploy(without));
  EXPECT_EQ(machine.Call("hi").code, 200);
}

TEST(ProviderTest, ADeploymentBorrowsNothing) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  EXPECT_EQ(machine.agent.loans_made(), 0);
}

TEST(ProviderTest, ACallWithoutAFreeGpuGetsTheReason) {
  TestMachine machine({"GPU-a"});
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.agent.refusal = http::JsonResponse(409, R"({"error":"no GPU is free: 1 is lent"})");
  const http::Response answer = machine.Call("hi");
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "no-gpu");
  EXPECT_THAT(answer.body, HasSubstr("1 is lent"));
  EXPECT_EQ(machine.podman.containers(), 0U);
}

TEST(ProviderTest, ACallAfterAShortageOfGpusStartsAReplica) {
  TestMachine machine({"GPU-a"});
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.agent.refusal = http::JsonResponse(409, R"({"error":"no GPU is free"})");
  ASSERT_EQ(machine.Call("hi").code, 503);
  machine.agent.refusal.reset();
  machine.Advance(std::chrono::seconds(1));
  EXPECT_EQ(machine.Call("hi").code, 200);
}

TEST(ProviderTest, AReplicaOnAGpuThatStaysUnhealthyMovesToAnotherOne) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.agent.unhealthy = {"GPU-a"};
  machine.Advance(std::chrono::seconds(10));
  EXPECT_THAT(machine.podman.Devices(), UnorderedElementsAre("kgpu.dev/gpu=GPU-a"))
      << "it may be brief";
  machine.Advance(std::chrono::seconds(11));
  EXPECT_TRUE(machine.Until([&] {
    return machine.podman.Devices() == std::multiset<std::string>{"kgpu.dev/gpu=GPU-b"} &&
           machine.Running() == 1 && machine.agent.free() == 1;
  }));
  EXPECT_EQ(machine.Call("hi").code, 200);
}

TEST(ProviderTest, DeletingNeedsNoAgentAndTheGpusAreReturnedLater) {
  for (const bool is_away : {true, false}) {
    TestMachine machine;
    ASSERT_TRUE(machine.DeployAndRun(1));
    machine.Advance(std::chrono::seconds(30));  // the last look of the start is over
    is_away ? machine.agent.Stop() : void(machine.agent.has_full_disk = true);
    EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
    EXPECT_EQ(machine.podman.containers(), 0U);
    EXPECT_EQ(machine.agent.free(), 1U);
    machine.agent.has_full_disk = false;
    if (is_away) {
      machine.agent.Start();
    }
    EXPECT_TRUE(machine.Until([&] { return machine.agent.free() == 2; })) << is_away;
  }
}

TEST(ProviderTest, DeletingWaitsForNoPauseOfAReturnThatFailed) {
  for (const int phase : {0, 10, 20}) {
    TestMachine machine;
    ASSERT_TRUE(machine.DeployAndRun(1));
    machine.agent.has_full_disk = true;
    machine.podman.KillAll();
    machine.Advance(std::chrono::seconds(180 + phase));  // the pauses are at their longest
    std::optional<http::Response> deleted;
    const auto call =
        machine.Begin({.method = "DELETE", .target = "/system/function/hello"}, deleted);
    const SteadyTime begun = machine.loop.clock().Now();
    EXPECT_TRUE(machine.Until([&] { return deleted.has_value(); }));
    EXPECT_LT(machine.loop.clock().Now() - begun, std::chrono::seconds(3));
    machine.agent.has_full_disk = false;
    EXPECT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  }
}

TEST(ProviderTest, AContainerThatPodmanCouldNotRemoveIsRemovedLater) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.Advance(std::chrono::seconds(30));  // the last look of the start is over
  machine.podman.removes_none = true;
  machine.podman.KillAll();
  machine.Advance(std::chrono::minutes(2));
  ASSERT_EQ(machine.Running(), 1U);
  ASSERT_EQ(machine.podman.containers(), 2U) << "podman's record of the one that has ended";
  machine.podman.removes_none = false;
  machine.Advance(std::chrono::minutes(2));
  EXPECT_EQ(machine.podman.containers(), 1U);
  EXPECT_EQ(machine.agent.free(), 1U);
}

TEST(ProviderTest, AGpuThatRecoversKeepsItsReplica) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  for (int i = 0; i < 4; ++i) {
    machine.agent.unhealthy = {"GPU-a"};
    machine.Advance(std::chrono::seconds(10));
    machine.agent.unhealthy.clear();
    machine.Advance(std::chrono::seconds(10));
  }
  EXPECT_EQ(machine.podman.runs(), 1);
}

TEST(ProviderTest, ACallAfterContainersThatDidNotStartStartsTheNextOne) {
  TestMachine machine;
  machine.podman.run_error = "Error: crun: no such program";
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Call("hi").code, 503);
  EXPECT_EQ(machine.Call("hi").code, 503) << "not before its pause is over";
  machine.podman.run_error.clear();
  machine.Advance(minutes(5));
  EXPECT_EQ(machine.Call("hi").code, 200);
}

TEST(ProviderTest, AContainerThatDoesNotStartIsReportedAndRetriedLaterAndLater) {
  TestMachine machine;
  machine.podman.run_error = "Error: crun: no such program";
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const http::Response answer = machine.Call("hi");
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "start");
  EXPECT_THAT(answer.body, HasSubstr("no such program"));
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  EXPECT_EQ(machine.podman.runs(), 2);
  EXPECT_EQ(machine.provider->FindPool("hello")->state(), "failing");
}

TEST(ProviderTest, AReplicaThatNeverGetsReadyIsRemoved) {
  TestMachine machine;
  machine.podman.makes_workers_ready = false;
  Function function = HelloFunction();
  function.scaling.min_replicas = 1;
  ASSERT_OK(machine.Deploy(function));
  ASSERT_TRUE(machine.Until([&] { return machine.podman.containers() == 1; }));
  machine.podman.run_error = "Error: not again";
  machine.Advance(minutes(3));
  ASSERT_TRUE(machine.Until([&] { return machine.podman.containers() == 0; }));
  EXPECT_THAT(machine.provider->FindPool("hello")->problem(), HasSubstr("not"));
}

TEST(ProviderTest, AHandlerThatDoesNotStartIsReportedWithinSecondsWithItsOwnWords) {
  TestMachine machine;
  machine.podman.makes_workers_ready = false;
  machine.podman.worker_problem = "the handler's process does not start: exit code 1";
  machine.podman.on_start = [&](const std::vector<std::string>& argv) {
    for (const std::string& word : argv) {
      if (word.starts_with("--log-opt=path=")) {
        std::ofstream(word.substr(word.find("path=") + 5))
            << "2026-01-31T12:00:00Z stderr F ModuleNotFoundError: No module named 'x'\n";
      }
    }
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const SteadyTime begun = machine.loop.clock().Now();
  const http::Response answer = machine.Call("hi");
  EXPECT_LT(machine.loop.clock().Now() - begun, seconds(10));
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "start");
  EXPECT_THAT(answer.body, HasSubstr("exit code 1:\nModuleNotFoundError: No module named 'x'"));
  EXPECT_THAT(machine.provider->FindPool("hello")->problem(), HasSubstr("No module named 'x'"));
}

TEST(ProviderTest, ACallIsNotRepeatedWhenItsContainerDies) {
  TestMachine machine;
  int calls = 0;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    ++calls;
    static std::vector<http::Responder> kept;
    kept = {responder};
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  std::optional<http::Response> answer;
  const auto call = machine.Begin({.method = "POST", .target = "/function/hello"}, answer);
  ASSERT_TRUE(machine.Until([&] { return calls == 1; }));
  machine.podman.KillAll();
  ASSERT_TRUE(machine.Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->code, 502);
  EXPECT_EQ(answer->headers.Find("Kgpu-Fault"), "crash");
  EXPECT_EQ(calls, 1);
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
}

TEST(ProviderTest, ANewDeploymentReplacesReplicasAndNoCallFails) {
  TestMachine machine({"GPU-a"});
  Function function = HelloFunction();
  ASSERT_OK(machine.Deploy(function));
  ASSERT_EQ(machine.Call("1").code, 200);
  function.environment["LEVEL"] = "2";
  ASSERT_OK(machine.Deploy(function, DeployMode::kUpdate));
  EXPECT_EQ(machine.Call("2").body, "2");
  EXPECT_THAT(machine.podman.last_run(), Contains("--env=LEVEL=2"));
  EXPECT_EQ(machine.podman.containers(), 1U);
  EXPECT_EQ(machine.podman.runs(), 2);
  // Only the scaling differs: the replica stays.
  function.scaling.max_replicas = 3;
  ASSERT_OK(machine.Deploy(function, DeployMode::kUpdate));
  EXPECT_EQ(machine.Call("3").body, "3");
  EXPECT_EQ(machine.podman.runs(), 2);
}

TEST(ProviderTest, CallsOfANewDeploymentWaitForTheGpuOfACallInFlight) {
  TestMachine machine({"GPU-a"});
  std::vector<http::Responder> held;
  machine.podman.handler = [&](const http::Request& request, const http::Responder& responder) {
    if (request.body == "long") {
      return held.push_back(responder);
    }
    responder.Send(http::TextResponse(200, request.body));
  };
  Function function = HelloFunction();
  ASSERT_OK(machine.Deploy(function));
  std::optional<http::Response> first;
  const auto call =
      machine.Begin({.method = "POST", .target = "/function/hello", .body = "long"}, first);
  ASSERT_TRUE(machine.Until([&] { return !held.empty(); }));
  function.environment["LEVEL"] = "2";
  ASSERT_OK(machine.Deploy(function, DeployMode::kUpdate));
  std::optional<http::Response> second;
  const auto next =
      machine.Begin({.method = "POST", .target = "/function/hello", .body = "next"}, second);
  const SteadyTime begun = machine.loop.clock().Now();
  ASSERT_TRUE(machine.Until([&] { return machine.loop.clock().Now() > begun + seconds(15); }));
  EXPECT_FALSE(second.has_value()) << second.value_or(http::Response()).body;
  held.at(0).Send(http::TextResponse(200, "done"));
  ASSERT_TRUE(machine.Until([&] { return first && second; }));
  EXPECT_EQ(first->body, "done\n");
  EXPECT_EQ(second->body, "next\n");
}

TEST(ProviderTest, DeletingLeavesNothing) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 2U);
  EXPECT_TRUE(std::filesystem::is_empty(machine.dir.At("run/functions")));
  EXPECT_TRUE(std::filesystem::is_empty(machine.dir.At("state/functions/deployed")));
  EXPECT_FALSE(std::filesystem::exists(machine.dir.At("state/functions/logs/hello")));
  EXPECT_EQ(machine.Call("hi").code, 404);
}

TEST(ProviderTest, DeletingWaitsForTheCallsInFlight) {
  TestMachine machine;
  std::vector<http::Responder> held;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  Function function = HelloFunction();
  function.calls.timeout = minutes(10);
  ASSERT_OK(machine.Deploy(function));
  std::optional<http::Response> answer;
  const auto call = machine.Begin({.method = "POST", .target = "/function/hello"}, answer);
  ASSERT_TRUE(machine.Until([&] { return !held.empty(); }));
  std::optional<http::Response> deleted;
  const auto request =
      machine.Begin({.method = "DELETE", .target = "/system/function/hello"}, deleted);
  machine.Advance(minutes(9));
  const SteadyTime begun = machine.loop.clock().Now();
  ASSERT_TRUE(machine.Until([&] { return machine.loop.clock().Now() > begun + seconds(3); }));
  ASSERT_FALSE(answer || deleted);
  EXPECT_EQ(machine.agent.free(), 1U);
  held.at(0).Send(http::TextResponse(200, "done"));
  ASSERT_TRUE(machine.Until([&] { return answer && deleted; }));
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(deleted->code, 200);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 2U);
}

TEST(ProviderTest, ReadsLogsWithoutHoldingUpTheLoop) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.dir.MakeDir("state/functions/logs/hello");
  // A log that gives nothing yet, as one on a disk that hangs.
  const std::string path = machine.dir.At("state/functions/logs/hello/a.log");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::optional<StatusOr<std::string>> logs;
  machine.provider->ReadLogs("hello", {},
                             [&logs](const StatusOr<std::string>& text) { logs = text; });
  EXPECT_EQ(machine.Call("meanwhile").code, 200);
  EXPECT_FALSE(logs.has_value());
  const std::ofstream writer(path);  // ends the reader's wait
  EXPECT_TRUE(machine.Until([&logs] { return logs.has_value(); }));
}

TEST(ProviderTest, MayGoInTheTurnInWhichItIsAskedToStop) {
  TestMachine machine;
  bool is_done = false;
  machine.provider->StopAll([&is_done](const Status&) { is_done = true; });
  machine.KillProvider();
  machine.loop.RunUntilIdle();
  EXPECT_FALSE(is_done);
}

TEST(ProviderTest, AMissingSecretOrImageRefusesTheDeployment) {
  TestMachine machine;
  Function function = HelloFunction();
  function.secrets = {"token"};
  EXPECT_THAT(machine.Deploy(function),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("secrets/token")));
  machine.dir.WriteFile("state/functions/secrets/token", "s3cret");
  EXPECT_OK(machine.Deploy(function));
  Function other = HelloFunction();
  other.name = "other";
  other.image = "localhost/none";
  EXPECT_THAT(machine.Deploy(other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("kgpu fn build")));
}

TEST(ProviderTest, AReplicaThatRunsSeesASecretThatIsReplaced) {
  TestMachine machine;
  machine.dir.WriteFile("state/functions/secrets/token", "old");
  Function function = HelloFunction();
  function.secrets = {"token"};
  function.scaling.min_replicas = 1;
  ASSERT_OK(machine.Deploy(function));
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 1; }));
  const auto replica = std::filesystem::directory_iterator(machine.dir.At("run/functions"))->path();
  const std::string seen =
      fmt::format("run/functions/{}/secrets/token", replica.filename().native());
  EXPECT_EQ(machine.dir.ReadFile(seen), "old");
  EXPECT_EQ(std::filesystem::status(replica).permissions(), std::filesystem::perms::owner_all)
      << "nobody else of this machine reaches it";
  machine.dir.WriteFile("state/functions/secrets/.token.new", "new");
  std::filesystem::rename(machine.dir.At("state/functions/secrets/.token.new"),
                          machine.dir.At("state/functions/secrets/token"));
  EXPECT_TRUE(machine.Until([&] { return machine.dir.ReadFile(seen) == "new"; }));
  EXPECT_EQ(machine.podman.runs(), 1);
}

// The folder of its socket belongs to the container.
TEST(ProviderTest, AContainerCannotDirectCallsToAnotherSocket) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  int reached = 0;
  http::Server other(machine.loop, [&](const http::Request&, const http::Responder& responder) {
    ++reached;
    responder.Send(http::TextResponse(200, "secret"));
  });
  ASSERT_OK(other.Listen(machine.dir.At("other")));
  ASSERT_EQ(machine.Call("hi").code, 200);
  const auto replica = std::filesystem::directory_iterator(machine.dir.At("run/functions"))->path();
  std::filesystem::rename(replica / "socket/fn.sock", replica / "socket/old");
  std::filesystem::create_symlink(machine.dir.At("other"), replica / "socket/fn.sock");
  machine.KillProvider();  // and its connections
  machine.StartProvider();
  std::optional<http::Response> answer;
  const auto call = machine.Begin({.method = "POST", .target = "/function/hello"}, answer);
  const SteadyTime begun = machine.loop.clock().Now();
  ASSERT_TRUE(machine.Until([&] { return machine.loop.clock().Now() > begun + seconds(3); }));
  EXPECT_EQ(reached, 0);
}

TEST(ProviderTest, EachDeploymentHasItsOwnFileOfCredentials) {
  TestMachine machine;
  std::map<std::string, std::string> files;
  machine.podman.on_start = [&files](const std::vector<std::string>& argv) {
    for (const std::string& word : argv) {
      if (word.starts_with("--authfile=")) {
        const std::string path = word.substr(word.find('=') + 1);
        std::ifstream file(path);
        files[path].assign(std::istreambuf_iterator<char>(file), {});
        using std::filesystem::perms;
        EXPECT_EQ(std::filesystem::status(path).permissions(),
                  perms::owner_read | perms::owner_write);
      }
    }
  };
  Function function = HelloFunction();
  function.image = "registry:5000/hello";
  function.registry_auth = R"(x"},"credHelpers":{"a":"b)";
  int ended = 0;
  for (int i = 0; i < 2; ++i) {
    machine.provider->Deploy(function.name, function, DeployMode::kCreate,
                             [&](const StatusOr<Provider::Notes>& notes) {
                               EXPECT_FALSE(notes.ok()) << "there is no such image";
                               ++ended;
                             });
  }
  ASSERT_TRUE(machine.Until([&] { return ended == 2; }));
  ASSERT_THAT(files, SizeIs(2));
  for (const auto& [path, text] : files) {
    EXPECT_EQ(
        boost::json::parse(text),
        boost::json::value({{"auths", {{"registry:5000", {{"auth", function.registry_auth}}}}}}));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(ProviderTest, CredentialsThatAKilledProviderLeftAreRemoved) {
  TestMachine machine;
  machine.KillProvider();
  machine.dir.WriteFile("state/functions/auth-1.json", "{}");
  machine.StartProvider();
  EXPECT_FALSE(std::filesystem::exists(machine.dir.At("state/functions/auth-1.json")));
}

TEST(ProviderTest, ConstraintsAreComparedWithTheMachine) {
  TestMachine machine;
  Function function = HelloFunction();
  function.constraints = {"kubernetes.io/os=windows"};
  EXPECT_THAT(machine.Deploy(function),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("kubernetes.io/os=linux")));
}

TEST(ProviderTest, AnAgentThatIsRestartingIsWaitedFor) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.agent.Stop();
  std::optional<http::Response> answer;
  const auto call = machine.Begin({.method = "POST", .target = "/function/hello"}, answer);
  machine.Advance(seconds(2));
  machine.agent.Start();
  ASSERT_TRUE(machine.Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->code, 200);
}

TEST(ProviderTest, TheNextProviderAdoptsWhatRuns) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.KillProvider();
  machine.StartProvider();
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 1; }));
  EXPECT_EQ(machine.podman.runs(), 1);
  EXPECT_EQ(machine.Call("hi").body, "hi");
  EXPECT_EQ(machine.podman.runs(), 1);
}

TEST(ProviderTest, TheNextProviderAdoptsWhatRunsAlsoWherePodmanCannotList) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  for (int i = 0; i < 3; ++i) {
    machine.KillProvider();
    machine.podman.is_blind = true;
    machine.StartProvider();
    ASSERT_TRUE(machine.Until([&] { return machine.Running() == 1; }));
  }
  EXPECT_EQ(machine.Call("hi").body, "hi");
  machine.Advance(minutes(5));
  EXPECT_EQ(machine.podman.runs(), 1) << "no second set";
  EXPECT_EQ(machine.agent.free(), 1U);
  EXPECT_EQ(machine.Ask({.method = "POST", .target = "/v1/stop"}).code, 200);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 2U);
  EXPECT_TRUE(std::filesystem::is_empty(machine.dir.At("run/functions")));
}

TEST(ProviderTest, WhatIsUnknownIsRemovedByNameWherePodmanCannotList) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(2));
  machine.KillProvider();
  machine.podman.is_blind = true;
  std::filesystem::remove(machine.dir.At("state/functions/deployed/hello.json"));
  machine.StartProvider();
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  ASSERT_TRUE(machine.Until([&] { return machine.podman.containers() == 0; }));
}

TEST(ProviderTest, NothingIsStartedBesideContainersOfWhichNobodyKnowsWhetherTheyMayRun) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  Function without = HelloFunction();
  without.name = "without";
  without.gpu.count = 0;
  without.scaling.min_replicas = 1;
  ASSERT_OK(machine.Deploy(without));
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 2; }));
  machine.KillProvider();
  machine.agent.Stop();
  machine.StartProvider();
  machine.Advance(minutes(3));
  EXPECT_EQ(machine.Call("hi", "without").body, "hi") << "it needs no agent";
  machine.agent.Start();
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 2; }));
  EXPECT_EQ(machine.podman.runs(), 2);
}

TEST(ProviderTest, AReplicaThatStartsKeepsItsFolderWhileThereIsNoAgent) {
  TestMachine machine;
  Function function = HelloFunction();
  function.gpu.count = 0;
  ASSERT_OK(machine.Deploy(function));
  machine.KillProvider();
  machine.agent.Stop();
  machine.StartProvider();
  machine.podman.holds_runs = true;
  std::optional<http::Response> answer;
  const auto call =
      machine.Begin({.method = "POST", .target = "/function/hello", .body = "hi"}, answer);
  machine.Advance(seconds(70));  // it looks for an agent again at least every minute
  EXPECT_FALSE(std::filesystem::is_empty(machine.dir.At("run/functions")));
  machine.podman.Release();
  ASSERT_TRUE(machine.Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->body, "hi");
}

TEST(ProviderTest, TheNextProviderRemovesWhatIsUnknownAndReturnsItsGpus) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Call("hi").code, 200);
  machine.KillProvider();
  std::filesystem::remove(machine.dir.At("state/functions/deployed/hello.json"));
  machine.StartProvider();
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  EXPECT_EQ(machine.podman.containers(), 0U);
}

// Whatever is killed, and whenever: no GPU is in two containers, and none stays lent without one.
TEST(ProviderTest, KillsAtAnyMomentNeitherLendTwiceNorLeak) {
  TestMachine machine;
  Function function = HelloFunction();
  function.scaling.min_replicas = 1;
  ASSERT_OK(machine.Deploy(function));
  Random random(7);
  std::optional<http::Response> ignored;
  for (int round = 0; round < 60; ++round) {
    const auto call = machine.Begin({.method = "POST", .target = "/function/hello"}, ignored);
    const uint64_t steps = random.Next() % 40;
    for (uint64_t i = 0; i < steps; ++i) {
      machine.loop.RunUntilIdle();
      machine.Advance(std::chrono::milliseconds(random.Next() % 20));
      for (const std::string& device : machine.podman.Devices()) {
        ASSERT_EQ(machine.podman.Devices().count(device), 1U);
      }
    }
    switch (random.Next() % 3) {
      case 0:
        machine.KillProvider();
        machine.StartProvider();
        break;
      case 1:
        machine.podman.KillAll();
        break;
      default:
        machine.agent.Stop();
        machine.agent.Start();
    }
  }
  ASSERT_TRUE(machine.Until([&] { return machine.Running() >= 1; }));
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  machine.Advance(minutes(2));
  ASSERT_TRUE(machine.Until([&] { return machine.agent.free() == 2; }));
  EXPECT_EQ(machine.podman.containers(), 0U);
}

}  // namespace
}  // namespace kgpu::functions
