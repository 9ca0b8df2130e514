// The cases that hold for every queue of calls, whatever stores its calls.
#include "src/functions/queue/call_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/queue/disk_queue.h"
#include "src/functions/queue/queue_metrics.h"
#include "src/functions/queue/test_queue_run.h"
#include "src/functions/redis/test_redis_storage.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DiskStorage final : public QueueStorage {
 public:
  QueueMaker Maker(EventLoop& loop, const CallLimits& limits, const IndexLimits& index) override {
    return DiskQueueMaker(loop, {.folder = dir_.At("queue"), .index = index, .limits = limits});
  }

 private:
  TempDir dir_;
};

class CallQueueTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("disk")) {
      storage_ = std::make_unique<DiskStorage>();
    } else if (RedisServer::IsInstalled()) {
      storage_ = std::make_unique<RedisStorage>();
    } else {
      GTEST_SKIP() << "redis-tools is not installed";
    }
  }
  QueueStorage& storage() { return *storage_; }

 private:
  std::unique_ptr<QueueStorage> storage_;
};

INSTANTIATE_TEST_SUITE_P(Storages, CallQueueTest, ::testing::Values("disk", "redis"),
                         [](const auto& storage) { return std::string(storage.param); });

TEST_P(CallQueueTest, MakesACallOnceAndForgetsIt) {
  QueueRun run(storage());
  run.Start();
  EXPECT_EQ(run.Put(HelloCall("a")).value(), "a");
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 1 && run.States().empty(); }));
  EXPECT_EQ(run.attempts[0].body, "input of a");
  EXPECT_EQ(run.attempts[0].target, "/x");
  EXPECT_EQ(run.attempts[0].headers, (http::Headers{{"Accept", "y"}}));
  run.Start();
  run.loop.Advance(minutes(5));
  EXPECT_EQ(run.States(), "");
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST_P(CallQueueTest, WhatHasNotEndedIsMadeAgainByTheNextQueue) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(HelloCall(id)));
  }
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 3; }));
  EXPECT_EQ(run.States(), "a:running b:running c:running");
  run.held[1].second({.code = 200});
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:running c:running"; }));
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 200}; };
  run.attempts.clear();
  run.Start();
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 2 && run.States().empty(); }));
  EXPECT_THAT(run.AttemptIds(), ElementsAre("a", "c"));
}

TEST_P(CallQueueTest, RetriesWithLongerAndLongerPausesThenKeepsItAsDead) {
  QueueRun run(storage());
  std::vector<SteadyTime> times;
  run.answer = [&](const CallRecord&) {
    times.push_back(run.loop.clock().Now());
    return CallOutcome{.code = 503, .problem = "it broke"};
  };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a", 3)));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  ASSERT_THAT(times, SizeIs(4));
  const auto near = [](std::chrono::nanoseconds pause, seconds wanted) {
    EXPECT_GE(pause, wanted);
    EXPECT_LT(pause, wanted + seconds(1));
  };
  near(times[1] - times[0], seconds(1));
  near(times[2] - times[1], seconds(2));
  near(times[3] - times[2], seconds(4));
  const boost::json::value call = run.List().at("calls").as_array().at(0);
  EXPECT_EQ(call.at("problem").as_string(), "it broke");
  EXPECT_EQ(call.at("code").as_int64(), 503);
  EXPECT_EQ(call.at("attempts").as_int64(), 4);
  EXPECT_THAT(QueueMetrics(run.queue->Counts(), run.loop.clock().WallNow(), metrics::Format::kText),
              HasSubstr(R"(kgpu_function_queue_retries_total{function_name="hello"} 3)"));
  run.Start();
  run.loop.Advance(minutes(5));
  EXPECT_EQ(run.States(), "a:dead") << "also after a restart";
  EXPECT_THAT(times, SizeIs(4));
}

TEST_P(CallQueueTest, ARetryStaysDueAtItsTimeOverARestart) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 503}; };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a", 10)));
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 5; }));
  ASSERT_EQ(run.States(), "a:waiting");
  run.Start();  // 16 s to go
  EXPECT_EQ(run.List().at("calls").as_array().at(0).at("retriesLeft").as_int64(), 5);
  run.loop.Advance(seconds(10));
  EXPECT_EQ(run.States(), "a:waiting");
  EXPECT_THAT(run.attempts, SizeIs(5));
  run.loop.Advance(seconds(6));
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 6; }));
}

TEST_P(CallQueueTest, ACodeThatCannotChangeIsNotRetried) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 400, .problem = "bad"}; };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a", 5)));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST_P(CallQueueTest, WhatNoReplicaTookUsesNoRetriesUntilItIsTooOld) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) {
    return CallOutcome{.code = 503, .was_taken = false, .problem = "no GPU is free"};
  };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a", 0)));
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 4; }));
  EXPECT_EQ(run.States(), "a:waiting");
  run.loop.Advance(std::chrono::hours(24));
  EXPECT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
}

TEST_P(CallQueueTest, ARepeatedKeyGivesTheFirstCallsId) {
  QueueRun run(storage());
  run.Start();
  CallRecord call = HelloCall("first");
  call.idempotency_key = "k";
  EXPECT_EQ(run.Put(call).value(), "first");
  call.call_id = "second";
  EXPECT_EQ(run.Put(call).value(), "first");
  ASSERT_TRUE(run.Until([&] { return run.States().empty(); }));
  run.Start();
  EXPECT_EQ(run.Put(call).value(), "first") << "also after a restart";
  EXPECT_THAT(run.AttemptIds(), ElementsAre("first"));
}

TEST_P(CallQueueTest, BoundsAreNamed) {
  QueueRun run(storage());
  run.limits.max_calls = 2;
  run.limits.max_bytes = 100;
  run.limits.max_body = 60;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  CallRecord large = HelloCall("large");
  large.body = std::string(61, 'x');
  EXPECT_THAT(Message(run.Put(large).status()), HasSubstr("at most 60 bytes"));
  large.body.pop_back();
  EXPECT_OK(run.Put(large));
  EXPECT_EQ(run.Put(large).status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(Message(run.Put(large).status()),
              HasSubstr("bytes of asynchronous calls are queued"));
  EXPECT_OK(run.Put(HelloCall("b")));
  EXPECT_THAT(Message(run.Put(HelloCall("c")).status()),
              HasSubstr("2 asynchronous calls are queued"));
  run.held[0].second({.code = 200});
  ASSERT_TRUE(run.Until([&] { return run.States() == "b:running"; }));
  EXPECT_OK(run.Put(HelloCall("c")));
}

TEST_P(CallQueueTest, CallsThatArriveAtOnceAreBounded) {
  QueueRun run(storage());
  run.limits.max_arriving = 3;
  run.Start();
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 5; ++i) {
    run.queue->Put(HelloCall(std::to_string(i)),
                   [&](const StatusOr<std::string>& id) { ++(id.ok() ? accepted : refused); });
  }
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(run.Until([&] { return accepted == 3; }));
}

TEST_P(CallQueueTest, OnlySoManyRunAtOnce) {
  QueueRun run(storage());
  run.index.running_of_function = 2;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(HelloCall(id)));
  }
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 2; }));
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.States(), "a:running b:running c:waiting");
  EXPECT_THAT(QueueMetrics(run.queue->Counts(), run.loop.clock().WallNow(), metrics::Format::kText),
              HasSubstr(R"(kgpu_function_queue_running{function_name="hello"} 2)"));
  run.held[0].second({.code = 200});
  EXPECT_TRUE(run.Until([&] { return run.held.size() == 3; }));
}

TEST_P(CallQueueTest, DeadCallsAreRetriedAndPurgedByHand) {
  QueueRun run(storage());
  bool works = false;
  run.answer = [&](const CallRecord& call) {
    return CallOutcome{.code = works && call.call_id != "c" ? 200 : 500};
  };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(HelloCall(id)));
  }
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead b:dead c:dead"; }));
  EXPECT_EQ(run.Change(true, {.selection = {.ids = {"a"}}, .is_dry_run = true}), 1U);
  EXPECT_EQ(run.States(), "a:dead b:dead c:dead");
  works = true;
  EXPECT_EQ(run.Change(true, {.selection = {.ids = {"a"}}}), 1U);
  EXPECT_TRUE(run.Until([&] { return run.States() == "b:dead c:dead"; }));
  EXPECT_EQ(run.Change(true, {.selection = {.function = "none"}}), 0U);
  EXPECT_EQ(run.Change(true, {.selection = {.state = CallState::kDead}}), 2U);
  EXPECT_TRUE(run.Until([&] { return run.States() == "c:dead"; }));
  EXPECT_EQ(run.Change(false, {.selection = {.function = "hello"}}), 1U);
  EXPECT_EQ(run.States(), "");
  run.Start();
  EXPECT_EQ(run.States(), "");
}

TEST_P(CallQueueTest, WaitingCallsCanBePurgedRunningOnesNot) {
  QueueRun run(storage());
  run.index.running_of_function = 1;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a")));
  EXPECT_OK(run.Put(HelloCall("b")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  EXPECT_EQ(run.Change(false, {.selection = {.function = "hello"}}), 1U);
  EXPECT_EQ(run.States(), "a:running");
}

TEST_P(CallQueueTest, TheOldestDeadCallsGo) {
  QueueRun run(storage());
  run.index.dead = 2;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 500}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(HelloCall(id)));
    ASSERT_TRUE(run.Until([&] { return run.States().ends_with(std::string(id) + ":dead"); }));
  }
  EXPECT_EQ(run.States(), "b:dead c:dead");
}

TEST_P(CallQueueTest, ADeletedFunctionsCallsGoWhateverTheirState) {
  QueueRun run(storage());
  run.index.running_of_function = 1;
  run.answer = [](const CallRecord& call) {
    return CallOutcome{.code = call.call_id == "dead" ? 500 : kHeldAttempt};
  };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("dead")));
  ASSERT_TRUE(run.Until([&] { return run.States() == "dead:dead"; }));
  EXPECT_OK(run.Put(HelloCall("running")));
  EXPECT_OK(run.Put(HelloCall("waiting")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  bool is_late_accepted = false;
  run.queue->Put(HelloCall("late"),
                 [&](const StatusOr<std::string>& id) { is_late_accepted = id.ok(); });
  run.queue->RemoveFunction("hello");
  ASSERT_TRUE(run.Until([&] { return is_late_accepted && run.States().empty(); }));
  run.held[0].second({.code = 200});
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.States(), "");
  EXPECT_THAT(run.List().at("functions").as_array(), SizeIs(0));
}

TEST_P(CallQueueTest, ACallbackGetsTheAnswer) {
  QueueRun run(storage());
  CallbackServer server(run.loop);
  run.answer = [](const CallRecord&) {
    return CallOutcome{.code = 201, .headers = {{"Content-Type", "a/b"}}, .body = "answer"};
  };
  run.Start();
  CallRecord call = HelloCall("a");
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States().empty() && server.got.size() == 1; }));
  const http::Request& got = server.got[0];
  EXPECT_EQ(got.body, "answer");
  EXPECT_EQ(got.headers.Find("X-Function-Status"), "201");
  EXPECT_EQ(got.headers.Find("X-Call-Id"), "a");
  EXPECT_EQ(got.headers.Find("X-Function-Name"), "hello");
  EXPECT_EQ(got.headers.Find("Content-Type"), "a/b");
}

TEST_P(CallQueueTest, ACallbackAlsoHearsOfTheEndOfAllRetries) {
  QueueRun run(storage());
  CallbackServer server(run.loop);
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 500}; };
  run.Start();
  CallRecord call = HelloCall("a", 1);
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  ASSERT_EQ(server.got.size(), 1U) << "not of each attempt";
  EXPECT_EQ(server.got[0].headers.Find("X-Function-Status"), "500");
}

TEST_P(CallQueueTest, ACallWhoseCallbackFailsIsDead) {
  QueueRun run(storage());
  CallbackServer server(run.loop);
  server.code = 500;
  run.Start();
  CallRecord call = HelloCall("a", 1);
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  EXPECT_THAT(run.List().at("calls").as_array().at(0).at("problem").as_string().c_str(),
              HasSubstr("callback 127.0.0.1"));
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST_P(CallQueueTest, ARetryOfAFailedCallbackMakesTheCallbackAlone) {
  QueueRun run(storage());
  CallbackServer server(run.loop);
  server.code = 500;
  run.answer = [](const CallRecord&) {
    return CallOutcome{.code = 201, .headers = {{"X-A", "1"}}, .body = "answer"};
  };
  run.Start();
  CallRecord call = HelloCall("a", 1);
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  run.Start();  // the answer is stored
  server.code = 200;
  server.got.clear();
  EXPECT_EQ(run.Change(true, {.selection = {.state = CallState::kDead}}), 1U);
  ASSERT_TRUE(run.Until([&] { return run.States().empty() && server.got.size() == 1; }));
  EXPECT_EQ(server.got[0].body, "answer");
  EXPECT_EQ(server.got[0].headers.Find("X-A"), "1");
  EXPECT_EQ(server.got[0].headers.Find("X-Function-Status"), "201");
  EXPECT_EQ(run.attempts.size(), 1U) << "the function has answered once and for all";
}

TEST_P(CallQueueTest, ACrashDuringACallbackDoesNotMakeTheFunctionAnswerAgain) {
  QueueRun run(storage());
  CallbackServer server(run.loop);
  server.code = 500;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 200, .body = "answer"}; };
  run.Start();
  CallRecord call = HelloCall("a");
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return server.got.size() == 1; }));
  server.code = 200;
  run.Start();
  run.loop.Advance(minutes(11));  // the claim of a queue that is gone ends
  ASSERT_TRUE(run.Until([&] { return run.States().empty() && server.got.size() == 2; }));
  EXPECT_EQ(server.got[1].body, "answer");
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST_P(CallQueueTest, NothingHappensAfterItsEnd) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  run.queue->Put(HelloCall("b"), [](const StatusOr<std::string>&) { FAIL(); });
  run.queue.reset();
  run.held[0].second({.code = 200});
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.loop.timers(), 0U);
  EXPECT_EQ(run.loop.watches(), 0U);
  run.Start();
  if (GetParam() == std::string("disk")) {
    EXPECT_TRUE(run.Until([&] { return run.States() == "a:running b:running"; }))
        << "what was posted was written";
  } else {
    run.loop.Advance(minutes(11));  // the claim of a queue that is gone ends
    EXPECT_TRUE(run.Until([&] { return run.States().starts_with("a:running"); }));
  }
}

TEST_P(CallQueueTest, AListIsBounded) {
  QueueRun run(storage());
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  size_t accepted = 0;
  for (int i = 0; i < 1'020; ++i) {
    run.queue->Put(HelloCall(std::to_string(i)),
                   [&](const StatusOr<std::string>& id) { accepted += id.ok() ? 1 : 0; });
    if (i % 500 == 0) {
      ASSERT_TRUE(run.Until([&] { return accepted == static_cast<size_t>(i) + 1; }));
    }
  }
  ASSERT_TRUE(run.Until([&] { return accepted == 1'020; }));
  const boost::json::object list = run.List();
  EXPECT_EQ(list.at("calls").as_array().size(), 1'000U);
  EXPECT_EQ(list.at("left").to_number<int>(), 20);
}

}  // namespace
}  // namespace kgpu::functions
