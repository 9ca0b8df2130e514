#include "src/functions/replicas/replica_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/functions/service/usage_hours.h"
#include "src/platform/net/http/server.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A watchdog on a socket of its own. Answers calls with the id of its replica, unless `handler` is
// set.
class FakeReplica final : public Replica {
 public:
  using Handler = std::function<void(const http::Responder&)>;

  FakeReplica(EventLoop& loop, const TempDir& dir, ReplicaSet& set, const std::string& id,
              std::string hash = "now")
      : Replica(set, id), hash_(std::move(hash)), loop_(loop), path_(dir.At(id)) {
    Listen();
  }

  void Listen() {
    server = std::make_unique<http::Server>(
        loop_, [this](const http::Request& /*request*/, const http::Responder& responder) {
          ++seen;
          handler ? handler(responder) : responder.Send({.code = 200, .body = id()});
        });
    EXPECT_OK(server->Listen(path_));
  }
  void Become(ReplicaState state) {
    state_ = state;
    Changed();
  }
  void Hold(int64_t gpus) { SetGpus(gpus); }

  ReplicaState state() const override { return state_; }
  std::string address() const override { return path_; }
  const std::string& revision() const override { return hash_; }
  void Describe(boost::json::object& entry) const override { entry["kind"] = "fake"; }

  int seen = 0;
  Handler handler{};
  std::unique_ptr<http::Server> server;

 private:
  const std::string hash_;
  EventLoop& loop_;
  const std::string path_;
  ReplicaState state_ = ReplicaState::kRunning;
};

class NotedSink final : public CallSink {
 public:
  explicit NotedSink(std::vector<std::string>& answers) : answers_(answers) {}
  bool is_open() const override { return true; }
  void Refuse(const CallFault& fault) override {
    answers_.push_back(fmt::format("{} {}: {}", fault.code, fault.fault, fault.text));
  }
  void Head(int code, const http::Headers& /*headers*/) override {
    text_ = fmt::format("{} ", code);
  }
  bool Data(std::string_view bytes) override {
    text_ += bytes;
    return true;
  }
  void End() override { answers_.push_back(text_); }

 private:
  std::vector<std::string>& answers_;
  std::string text_;
};

// `shun`: of the set. 0: replicas of this machine.
class SetUnderTest final : public ReplicaBackend {
 public:
  explicit SetUnderTest(milliseconds shun = {})
      : set(loop, meter, *this,
            {.key = "hello",
             .start_limit = seconds(120),
             .shun = shun,
             .on_gpu_time = [this](double busy, double of_gpus) {
               busy_seconds += busy;
               held_seconds += of_gpus;
             }}) {
    set.Deploy({.concurrency = 2, .timeout = seconds(60)}, "now");
  }
  std::optional<SteadyTime> Settle() override {
    ++settled;
    return std::nullopt;
  }
  void OnAnswer(int code) override { codes.push_back(code); }

  std::unique_ptr<FakeReplica> NewReplica(const std::string& id, const std::string& hash = "now") {
    auto replica = std::make_unique<FakeReplica>(loop, dir, set, id, hash);
    loop.RunUntilIdle();
    return replica;
  }
  void Call(std::optional<seconds> patience = std::nullopt) {
    const SteadyTime now = loop.clock().Now();
    set.Take({.request = {.method = "POST", .target = "/"},
              .call_id = "id",
              .sink = std::make_unique<NotedSink>(answers),
              .arrived = now,
              .deadline = patience ? std::optional(now + *patience) : std::nullopt});
    loop.RunUntilIdle();
  }
  // A handler that keeps its callers waiting.
  FakeReplica::Handler Holding() {
    return [this](const http::Responder& responder) { held.push_back(responder); };
  }
  void AnswerHeld() {
    for (const http::Responder& responder : std::exchange(held, {})) {
      responder.Send({.code = 200, .body = "held"});
    }
    loop.RunUntilIdle();
  }
  std::string Page() const { return meter.Page(); }

  TempDir dir;
  FakeLoop loop;
  UsageHours hours;
  Meter meter{hours, {"a", "b", "c", "d"}};
  std::vector<std::string> answers;
  std::vector<int> codes;
  std::vector<http::Responder> held;
  int settled = 0;
  double busy_seconds = 0;
  double held_seconds = 0;
  ReplicaSet set;
};

void RefuseAsStopping(const http::Responder& responder) {
  http::Response stopping = http::TextResponse(503, "the watchdog is stopping");
  stopping.headers.Add(kFaultHeader, "stopping");
  responder.Send(std::move(stopping));
}

TEST(ReplicaSetTest, GivesACallToTheReplicaOfTheCurrentRevisionWithTheFewestCalls) {
  SetUnderTest test;
  const auto old = test.NewReplica("old", "before");
  const auto first = test.NewReplica("first");
  const auto second = test.NewReplica("second");
  for (FakeReplica* replica : {old.get(), first.get(), second.get()}) {
    replica->handler = test.Holding();
  }
  for (int i = 0; i < 4; ++i) {
    test.Call();
  }
  EXPECT_EQ(first->in_flight(), 2);
  EXPECT_EQ(second->in_flight(), 2);
  EXPECT_EQ(old->in_flight(), 0);
  for (int i = 0; i < 3; ++i) {
    test.Call();
  }
  EXPECT_EQ(old->in_flight(), 2) << "the others have as many calls as they may";
  EXPECT_EQ(test.set.waiting(), 1);
  test.AnswerHeld();
  EXPECT_EQ(test.set.waiting(), 0);
}

TEST(ReplicaSetTest, CallsWaitForAReplicaThatIsReady) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  replica->Become(ReplicaState::kStarting);
  test.Call();
  test.Call();
  EXPECT_THAT(test.answers, IsEmpty());
  EXPECT_THAT(test.Page(), HasSubstr(R"(kgpu_function_calls_waiting{function_name="hello"} 2)"));
  replica->Become(ReplicaState::kRunning);
  test.loop.RunUntilIdle();
  EXPECT_THAT(test.answers, ElementsAre("200 a", "200 a"));
  EXPECT_THAT(test.codes, ElementsAre(200, 200));
}

TEST(ReplicaSetTest, CallsFollowEachOtherOnOneConnection) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  for (int i = 0; i < 5; ++i) {
    test.Call();
    EXPECT_EQ(replica->server->connections(), 1U);
  }
  // It is closed before the watchdog would do so.
  test.loop.Advance(seconds(21));
  EXPECT_EQ(replica->server->connections(), 0U);
  test.Call();
  EXPECT_EQ(test.answers.size(), 6U);
}

TEST(ReplicaSetTest, ACallSurvivesTheEndOfAConnectionThatWasKept) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  test.Call();
  replica->server.reset();
  replica->Listen();
  test.Call();
  EXPECT_THAT(test.answers, ElementsAre("200 a", "200 a"));
}

TEST(ReplicaSetTest, ACallOverTheNetworkSurvivesTheReplicaThatRefusesIt) {
  SetUnderTest test(seconds(1));
  const auto refusing = test.NewReplica("refusing");
  const auto other = test.NewReplica("other");
  refusing->handler = RefuseAsStopping;
  test.Call();
  EXPECT_THAT(test.answers, ElementsAre("200 other"));
  test.Call();
  EXPECT_EQ(refusing->seen, 1) << "it gets no calls for a while";
  test.loop.Advance(seconds(1));
  refusing->handler = nullptr;
  test.Call();
  EXPECT_THAT(test.answers, ElementsAre("200 other", "200 other", "200 refusing"));
}

TEST(ReplicaSetTest, TheOnlyReplicaOverTheNetworkIsTriedAgain) {
  SetUnderTest test(seconds(1));
  const auto replica = test.NewReplica("a");
  replica->server.reset();  // it refuses connections
  test.Call();
  EXPECT_EQ(test.set.waiting(), 1);
  replica->Listen();
  test.loop.Advance(seconds(1));
  EXPECT_THAT(test.answers, ElementsAre("200 a"));
}

TEST(ReplicaSetTest, AReplicaOfThisMachineThatRefusesConnectionsIsLeftToItsBackend) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  replica->server.reset();
  test.Call();
  EXPECT_EQ(test.set.waiting(), 1);
  const auto successor = test.NewReplica("b");
  replica->Become(ReplicaState::kDraining);
  test.loop.RunUntilIdle();
  EXPECT_THAT(test.answers, ElementsAre("200 b"));
}

TEST(ReplicaSetTest, ACallExpiresWithTheReason) {
  SetUnderTest test;
  test.set.SetNote("no node is free");
  test.Call();
  test.loop.Advance(seconds(179));
  EXPECT_THAT(test.answers, IsEmpty());
  test.loop.Advance(seconds(2));
  EXPECT_THAT(test.answers,
              ElementsAre("503 no-replica: no replica became free in time: no node is free"));
}

TEST(ReplicaSetTest, ADeadlineOfTheCallerEndsItsWait) {
  SetUnderTest test;
  test.Call(seconds(5));
  test.loop.Advance(seconds(5));
  EXPECT_THAT(test.answers, ElementsAre(HasSubstr("504 timeout")));
}

TEST(ReplicaSetTest, TheEndOfAReplicaDoesNotEndItsCalls) {
  SetUnderTest test(seconds(1));
  auto replica = test.NewReplica("a");
  replica->handler = test.Holding();
  test.Call();
  const std::unique_ptr<http::Server> server = std::move(replica->server);
  replica.reset();
  EXPECT_EQ(test.set.in_flight(), 1);
  test.AnswerHeld();
  EXPECT_THAT(test.answers, ElementsAre("200 held"));
  EXPECT_EQ(test.set.in_flight(), 0);
}

TEST(ReplicaSetTest, RefusesCallsOnceItIsStopped) {
  SetUnderTest test;
  test.Call();
  test.set.Stop(true);
  test.Call();
  EXPECT_THAT(test.answers, ElementsAre(HasSubstr("503 stopping"), HasSubstr("503 stopping")));
}

TEST(ReplicaSetTest, AnotherSetMayHaveTheKeyOfOneThatIsStopped) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  test.set.Stop(false);
  test.loop.RunUntilIdle();
  test.meter.SetReplicas("hello", {.starting = 7}, 0);
  replica->Become(ReplicaState::kDraining);
  test.loop.RunUntilIdle();
  EXPECT_THAT(test.Page(),
              HasSubstr(R"(kgpu_function_replicas{function_name="hello",state="starting"} 7)"));
}

TEST(ReplicaSetTest, GpuTimeIsBusyDuringCallsAndHeldAlways) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  replica->Hold(2);
  replica->handler = test.Holding();
  test.loop.Advance(seconds(100));
  test.Call();
  test.loop.Advance(seconds(10));
  test.AnswerHeld();
  test.loop.Advance(seconds(100));
  test.set.CountGpuTime();
  EXPECT_NEAR(test.busy_seconds, 20, 0.1);
  EXPECT_NEAR(test.held_seconds, 420, 0.1);
  replica->Hold(0);
  test.loop.Advance(seconds(100));
  test.set.CountGpuTime();
  EXPECT_NEAR(test.held_seconds, 420, 0.1);
}

TEST(ReplicaSetTest, SettlesOnceForAllThatChangesInATurn) {
  SetUnderTest test;
  const auto replica = test.NewReplica("a");
  const int before = test.settled;
  for (int i = 0; i < 3; ++i) {
    replica->Become(ReplicaState::kRunning);
  }
  test.loop.RunUntilIdle();
  EXPECT_EQ(test.settled, before + 1);
}

TEST(ReplicaSetTest, ShowsItsReplicasWithWhatTheirKindAdds) {
  SetUnderTest test;
  const auto old = test.NewReplica("old", "before");
  old->Become(ReplicaState::kDraining);
  const auto view = test.set.View({.name = "hello"}, 3, {{"state", "cold"}});
  EXPECT_EQ(view.at("Replicas"), "3");
  EXPECT_EQ(view.at("AvailableReplicas"), "0");
  EXPECT_THAT(boost::json::serialize(view.at("Kgpu").at("replicaList")),
              R"([{"id":"old","state":"draining","inFlight":0,"outdated":true,"kind":"fake"}])");
}

}  // namespace
}  // namespace kgpu::functions
