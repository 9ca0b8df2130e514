// Reading of texts of others (podman, the agent, watchdogs) and of the provider's own files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/functions/provider/deployment.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/logs.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/reconciler.h"
#include "src/functions/provider/store.h"
#include "src/functions/replicas/ready_probe.h"
#include "src/functions/service/usage_hours.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPodmanList[] = R"([
  {"Id": "0a", "Names": ["kgpu-fn-hello-4f1c"], "State": "running", "Pid": 77, "ExitCode": 0,
   "Labels": {"kgpu.dev/function": "hello", "kgpu.dev/replica": "4f1c", "kgpu.dev/loan": "l1",
              "kgpu.dev/config-hash": "00ff"}},
  {"Id": "0b", "Names": ["kgpu-fn-hello-5a5a"], "State": "exited", "Pid": 0, "ExitCode": 137,
   "Labels": {"kgpu.dev/function": "hello", "kgpu.dev/replica": "5a5a"}},
  {"Id": "0c", "Names": ["evil"], "State": "running", "Pid": 1,
   "Labels": {"kgpu.dev/function": "hello", "kgpu.dev/replica": ".."}}])";

TEST(ReadingTest, ContainersOfPodman) {
  const auto containers = ParseContainers(kPodmanList);
  ASSERT_OK(containers);
  ASSERT_THAT(*containers, SizeIs(2));
  EXPECT_EQ((*containers)[0], (FoundContainer{.name = "kgpu-fn-hello-4f1c",
                                              .function = "hello",
                                              .replica = "4f1c",
                                              .loan = "l1",
                                              .hash = "00ff",
                                              .is_running = true,
                                              .pid = 77}));
  EXPECT_FALSE((*containers)[1].is_running);
}

TEST(ReadingTest, NoContainersAndNonsenseOfPodman) {
  EXPECT_THAT(ParseContainers(""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseContainers("[]"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseContainers("null"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseContainers("{}"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseContainers("[1]"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ReadingTest, LoansOfTheAgent) {
  constexpr char kLoan[] =
      R"({"id":"l1","holder":"fn/hello/4f1c","devices":["kgpu.dev/gpu=GPU-a"],"uuids":["GPU-a"],)"
      R"("since":"2026-01-01T00:00:00Z","healthy":false,"problem":"XID 79"})";
  const auto loans = ParseLoans(std::string(R"({"loans":[)") + kLoan + "]}");
  ASSERT_OK(loans);
  EXPECT_THAT(*loans, ElementsAre(Loan{.id = "l1",
                                       .holder = "fn/hello/4f1c",
                                       .devices = {"kgpu.dev/gpu=GPU-a"},
                                       .uuids = {"GPU-a"},
                                       .problem = "XID 79"}));
  EXPECT_THAT(ParseLoan(R"({"id":"l1"})"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseLoan(R"({"id":"l","holder":"h","devices":[],"uuids":[]})"),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST(ReadingTest, MountsOfALoanOfSlices) {
  const auto with = [](std::string_view mounts) {
    return ParseLoan(fmt::format(
        R"({{"id":"l1","holder":"fn/a/1","devices":["d"],"uuids":["GPU-a"],"mounts":{}}})",
        mounts));
  };
  const auto loan =
      with(R"([{"source":"/s/GPU-a_0.limits","target":"/t/limits","readOnly":true},)"
           R"({"source":"/s/GPU-a_0.ledger","target":"/t/ledger","readOnly":false}])");
  ASSERT_OK(loan);
  EXPECT_THAT(
      loan->mounts,
      ElementsAre(
          LoanMount{.source = "/s/GPU-a_0.limits", .target = "/t/limits"},
          LoanMount{.source = "/s/GPU-a_0.ledger", .target = "/t/ledger", .is_read_only = false}));
  for (const char* mounts : {"1", "[1]", R"([{"source":"/s","target":"/t"}])",
                             R"([{"source":"s","target":"/t","readOnly":true}])",
                             R"([{"source":"/s","target":"/t,ro","readOnly":true}])",
                             R"([{"source":"/s\n","target":"/t","readOnly":true}])"}) {
    EXPECT_THAT(with(mounts), StatusIs(StatusCode::kInvalidArgument)) << mounts;
  }
}

TEST(ReadingTest, StatusOfAWatchdog) {
  const auto status =
      ParseWatchdogStatus(R"({"state":"ready","phases":{"workerStarted":12,"workerReady":340}})");
  ASSERT_OK(status);
  EXPECT_TRUE(status->is_ready);
  EXPECT_EQ(status->worker_ready, milliseconds(340));
  const auto starting = ParseWatchdogStatus(
      R"({"state":"starting","phases":{"workerStarted":12,"workerReady":null}})");
  ASSERT_OK(starting);
  EXPECT_FALSE(starting->is_ready);
  EXPECT_THAT(ParseWatchdogStatus("[]"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ReadingTest, WhatIsKeptAfterARestart) {
  const auto containers = ParseContainers(kPodmanList);
  ASSERT_OK(containers);
  const Loan loan{.id = "l1", .holder = "fn/hello/4f1c", .devices = {"d"}};
  const ReconcilePlan kept = PlanReconcile(*containers, {loan});
  ASSERT_THAT(kept.adopt, SizeIs(1));
  EXPECT_EQ(kept.adopt[0].loan, loan);
  ASSERT_THAT(kept.remove, SizeIs(1));
  EXPECT_EQ(kept.remove[0].replica, "5a5a");
  // A container whose loan the agent does not know, or that belongs to somebody else.
  EXPECT_THAT(PlanReconcile(*containers, {}).adopt, IsEmpty());
  const Loan other{.id = "l1", .holder = "fn/other/4f1c", .devices = {"d"}};
  EXPECT_THAT(PlanReconcile(*containers, {other}).adopt, IsEmpty());
}

TEST(ReadingTest, LinesOfALog) {
  const std::vector<LogLine> lines = ParseLogLines(
      "2026-01-31T12:00:00.5+01:00 stdout F one\n"
      "nonsense\n"
      "2026-01-31T12:00:01.5+01:00 stderr P two, \n"
      "2026-01-31T12:00:01.6+01:00 stderr F continued\n"
      "2026-01-31T12:00:02.5+01:00 stdout F not over yet");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].text, "one\n");
  EXPECT_EQ(lines[1].text, "two, continued\n");
}

TEST(ReadingTest, ARuntimeThatDoesNotWorkIsNamedWithTheOtherOne) {
  EXPECT_TRUE(WithRuntimeFix("Error: OCI runtime error: crun: unknown version specified")
                  .ends_with("kgpu fn up --engine-flag=--runtime=runc"));
  EXPECT_TRUE(WithRuntimeFix("Error: runc: runc create failed: OCI runtime error")
                  .ends_with("--runtime=crun"));
  EXPECT_TRUE(WithRuntimeFix("Error: default OCI runtime \"crun\" not found: invalid argument")
                  .ends_with("--runtime=runc"));
  const std::string missing =
      "Error: OCI runtime attempted to invoke a command that was not found: crun: x: not found";
  EXPECT_EQ(WithRuntimeFix(missing), missing);
  EXPECT_EQ(WithRuntimeFix("Error: statfs /x: no such file or directory"),
            "Error: statfs /x: no such file or directory");
}

// As podman would count pieces of 32 KiB.
TEST(ReadingTest, ALongLineCountsAsOne) {
  const TempDir dir;
  const ProviderFolders folders{.run = "", .secrets = "", .logs = dir.path()};
  std::string text = "2026-01-31T12:00:00Z stdout F before\n";
  for (int i = 0; i < 5; ++i) {
    text += "2026-01-31T12:00:01Z stdout P " + std::string(1000, 'x') + "\n";
    text += fmt::format("2026-01-31T12:00:01Z stderr F between {}\n", i);
  }
  text += "2026-01-31T12:00:02Z stdout F end\n2026-01-31T12:00:03Z stdout F after\n";
  dir.WriteFile("hello/a.log", text);
  const std::string two = ReadLogs(folders, "hello", {.tail = 7});
  EXPECT_EQ(two.find("before"), std::string::npos);
  EXPECT_NE(two.find(std::string(5000, 'x') + "end\n"), std::string::npos);
  EXPECT_TRUE(two.ends_with("after\n"));
}

TEST(ReadingTest, LastLinesAreTheHandlers) {
  const TempDir dir;
  const ProviderFolders folders{.run = "", .secrets = "", .logs = dir.path()};
  EXPECT_EQ(LastLines(folders, "hello", "a", 3), "");
  dir.WriteFile("hello/a.log",
                "2026-01-31T12:00:00Z stderr F Traceback (most recent call last):\n"
                "2026-01-31T12:00:00Z stderr F   File \"handler.py\", line 1\n"
                "2026-01-31T12:00:00Z stderr F ModuleNotFoundError: No module named 'x'\n"
                "2026-01-31T12:00:00Z stderr F time=2026-01-31T12:00:00Z level=info event=\"worker "
                "ended\"\n");
  EXPECT_EQ(LastLines(folders, "hello", "a", 2),
            "File \"handler.py\", line 1\nModuleNotFoundError: No module named 'x'");
}

TEST(ReadingTest, AFollowerForgetsLogsThatWereRemoved) {
  FakeLoop loop;
  const TempDir dir;
  const ProviderFolders folders{.run = "", .secrets = "", .logs = dir.path()};
  dir.WriteFile("hello/a.log",
                "2026-01-31T12:00:00Z stdout F before\n2026-01-31T12:00:01Z stdout ");
  std::string text;
  const auto reader = LogFollower::Start(
      loop, folders, "hello",
      [&text](std::string_view more) {
        text += more;
        return true;
      },
      [] {});
  ASSERT_OK(reader);
  const auto& follower = static_cast<const LogFollower&>(**reader);
  std::ofstream(dir.At("hello/a.log"), std::ios::app) << "F after\n";
  ASSERT_TRUE(loop.WaitForDescriptor(std::chrono::seconds(10)));
  loop.RunUntilIdle();
  EXPECT_EQ(text, "after\n");
  ASSERT_EQ(std::remove(dir.At("hello/a.log").c_str()), 0);
  dir.WriteFile("hello/b.log", "2026-01-31T12:00:02Z stdout F of b\n");
  for (int i = 0; i < 100 && text != "after\nof b\n"; ++i) {
    (void)loop.WaitForDescriptor(std::chrono::milliseconds(100));
    loop.RunUntilIdle();
  }
  EXPECT_EQ(text, "after\nof b\n");
  EXPECT_EQ(follower.positions(), 1U);
}

TEST(ReadingTest, LogsOfAllReplicasInTheOrderOfTime) {
  const TempDir dir;
  const ProviderFolders folders{.run = "", .secrets = "", .logs = dir.path()};
  dir.WriteFile("hello/a.log",
                "2026-01-31T12:00:00Z stdout F 1\n2026-01-31T12:00:02Z stdout F 3\n");
  dir.WriteFile("hello/b.log", "2026-01-31T12:00:01Z stdout F 2\n");
  EXPECT_EQ(ReadLogs(folders, "hello", {}), "1\n2\n3\n");
  EXPECT_EQ(ReadLogs(folders, "hello", {.tail = 2}), "2\n3\n");
  const WallTime since = WallTime(std::chrono::seconds(1'769'860'801));  // 12:00:01
  EXPECT_EQ(ReadLogs(folders, "hello", {.since = since}), "2\n3\n");
  EXPECT_EQ(ReadLogs(folders, "none", {}), "");
}

TEST(ReadingTest, DeploymentsSurviveARestart) {
  const TempDir dir;
  Function function;
  function.name = "hello";
  function.image = "localhost/hello:1";
  function.gpu = {.count = 2, .models = {"A100-SXM4-80GB"}};
  function.scaling = {.min_replicas = 0, .max_replicas = 3};
  const Deployment deployment =
      MakeDeployment(function, "sha", WallTime(std::chrono::seconds(1'700'000'000)));
  Store store(dir.At("deployed"));
  ASSERT_OK(store.Open());
  ASSERT_OK(store.Save(deployment));
  const auto found = store.Open();
  ASSERT_OK(found);
  ASSERT_THAT(found->deployments, SizeIs(1));
  EXPECT_EQ(found->deployments[0].function.gpu, function.gpu);
  EXPECT_EQ(found->deployments[0].function.scaling, function.scaling);
  EXPECT_EQ(found->deployments[0].hash, deployment.hash);
  ASSERT_OK(store.Remove("hello"));
  ASSERT_OK(store.Remove("hello"));
  EXPECT_THAT(store.Open()->deployments, IsEmpty());
}

TEST(ReadingTest, AFileThatCannotBeReadIsKeptAside) {
  const TempDir dir;
  dir.WriteFile("deployed/hello.json", "{\"function\": 1}");
  Store store(dir.At("deployed"));
  const auto found = store.Open();
  ASSERT_OK(found);
  EXPECT_THAT(found->problems, ElementsAre(HasSubstr("hello.json")));
  EXPECT_TRUE(std::filesystem::exists(dir.At("deployed/hello.json.bad")));
  EXPECT_THAT(store.Open()->problems, IsEmpty());
}

TEST(ReadingTest, ScalingDoesNotReplaceReplicas) {
  Function function;
  function.name = "hello";
  const std::string hash = MakeDeployment(function, "sha", {}).hash;
  function.scaling.min_replicas = 0;
  EXPECT_EQ(MakeDeployment(function, "sha", {}).hash, hash);
  function.environment["A"] = "b";
  EXPECT_NE(MakeDeployment(function, "sha", {}).hash, hash);
  function.environment.clear();
  EXPECT_NE(MakeDeployment(function, "other", {}).hash, hash);
}

TEST(ReadingTest, UsageIsCountedByTheHourAndForgottenAfterWeeks) {
  const WallTime start = WallTime(std::chrono::seconds(1'700'000'000));
  UsageHours usage;
  usage.Add("hello", {.calls = 1, .gpu_busy_seconds = 0.5}, start);
  usage.Add("hello", {.calls = 2, .errors = 1}, start + hours(2));
  EXPECT_EQ(usage.Since(start).at("hello").calls, 3U);
  EXPECT_EQ(usage.Since(start + hours(2)).at("hello").calls, 2U);
  const auto read = UsageHours::Parse(usage.Text());
  ASSERT_OK(read);
  EXPECT_EQ(read->Since(start), usage.Since(start));
  usage.Add("hello", {.calls = 1}, start + UsageHours::kKept + hours(2));
  EXPECT_EQ(usage.Since(start).at("hello").calls, 3U);
  EXPECT_TRUE(usage.TakeChanged());
  EXPECT_FALSE(usage.TakeChanged());
  EXPECT_THAT(UsageHours::Parse("{\"hour\":-1}\n"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(UsageHours::Parse("[]\n"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::functions
