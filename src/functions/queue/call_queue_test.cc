#include "src/functions/queue/disk_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "src/platform/http/server.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kHeld = 0;  // an attempt that does not end by itself

// A queue in a folder of its own, and functions that answer as they are told.
class QueueRun {
 public:
  QueueRun() { options.folder = dir.At("queue"); }
  ~QueueRun() { queue.reset(); }

  void Start() {
    queue.reset();
    held.clear();
    auto started = DiskQueue::Start(loop, options, [this](CallRecord call, CallQueue::Ended ended) {
      attempts.push_back(call);
      const CallOutcome outcome = answer(call);
      if (outcome.code == kHeld) {
        held.emplace_back(std::move(call), std::move(ended));
      } else {
        ended(outcome);
      }
    });
    ASSERT_TRUE(started.ok()) << started.status();
    queue = *std::move(started);
  }

  bool Until(const std::function<bool()>& holds) {
    for (int i = 0; i < 5'000 && !holds(); ++i) {
      loop.RunUntilIdle();
      loop.WaitForDescriptor(std::chrono::milliseconds(1));
      loop.Advance(std::chrono::milliseconds(50));
    }
    return holds();
  }

  // The id, or the error.
  StatusOr<std::string> Put(CallRecord call) {
    std::optional<StatusOr<std::string>> accepted;
    queue->Put(std::move(call), [&](const StatusOr<std::string>& id) { accepted = id; });
    EXPECT_TRUE(Until([&] { return accepted.has_value(); }));
    return accepted ? *accepted : Internal("no end");
  }

  boost::json::object List(const CallSelection& selection = {}) {
    std::optional<boost::json::object> listed;
    queue->List(selection, [&](const StatusOr<boost::json::object>& list) {
      EXPECT_TRUE(list.ok()) << list.status();
      listed = list.ok() ? *list : boost::json::object();
    });
    EXPECT_TRUE(Until([&] { return listed.has_value(); }));
    return listed.value_or(boost::json::object());
  }
  // "a:waiting b:dead".
  std::string States() {
    std::string text;
    const boost::json::object list = List();
    for (const boost::json::value& call : list.at("calls").as_array()) {
      text += text.empty() ? "" : " ";
      text += call.at("id").as_string().c_str();
      text += ":";
      text += call.at("state").as_string().c_str();
    }
    return text;
  }
  size_t Change(bool is_retry, const ChangeRequest& request) {
    std::optional<size_t> changed;
    const auto done = [&](const StatusOr<size_t>& count) { changed = count.value_or(999); };
    is_retry ? queue->Retry(request, done) : queue->Purge(request, done);
    EXPECT_TRUE(Until([&] { return changed.has_value(); }));
    return changed.value_or(999);
  }
  std::vector<std::string> AttemptIds() const {
    std::vector<std::string> ids;
    for (const CallRecord& call : attempts) {
      ids.push_back(call.call_id);
    }
    return ids;
  }

  TempDir dir;
  FakeLoop loop;
  QueueOptions options;
  std::function<CallOutcome(const CallRecord&)> answer = [](const CallRecord&) {
    return CallOutcome{.code = 200};
  };
  std::vector<CallRecord> attempts;
  std::vector<std::pair<CallRecord, CallQueue::Ended>> held;
  std::unique_ptr<CallQueue> queue;
};

CallRecord Hello(const std::string& id, int64_t retries = 0) {
  CallRecord call{.call_id = id, .function = "hello", .method = "POST", .target = "/x"};
  call.headers = {{"Accept", "y"}};
  call.body = "input of " + id;
  call.retries = retries;
  return call;
}

TEST(CallQueueTest, MakesACallOnceAndForgetsIt) {
  QueueRun run;
  run.Start();
  EXPECT_EQ(run.Put(Hello("a")).value(), "a");
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 1 && run.States().empty(); }));
  EXPECT_EQ(run.attempts[0].body, "input of a");
  EXPECT_EQ(run.attempts[0].target, "/x");
  EXPECT_EQ(run.attempts[0].headers, (http::Headers{{"Accept", "y"}}));
  run.Start();
  run.loop.Advance(minutes(5));
  EXPECT_EQ(run.States(), "");
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST(CallQueueTest, WhatHasNotEndedIsMadeAgainByTheNextQueue) {
  QueueRun run;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(Hello(id)));
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

TEST(CallQueueTest, RetriesWithLongerAndLongerPausesThenKeepsItAsDead) {
  QueueRun run;
  std::vector<SteadyTime> times;
  run.answer = [&](const CallRecord&) {
    times.push_back(run.loop.clock().Now());
    return CallOutcome{.code = 503, .problem = "it broke"};
  };
  run.Start();
  EXPECT_OK(run.Put(Hello("a", 3)));
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
  EXPECT_THAT(run.queue->MetricsPage(metrics::Format::kText),
              HasSubstr(R"(kgpu_function_queue_retries_total{function_name="hello"} 3)"));
  run.Start();
  run.loop.Advance(minutes(5));
  EXPECT_EQ(run.States(), "a:dead") << "also after a restart";
  EXPECT_THAT(times, SizeIs(4));
}

TEST(CallQueueTest, ARetryStaysDueAtItsTimeOverARestart) {
  QueueRun run;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 503}; };
  run.Start();
  EXPECT_OK(run.Put(Hello("a", 10)));
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

TEST(CallQueueTest, ACodeThatCannotChangeIsNotRetried) {
  QueueRun run;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 400, .problem = "bad"}; };
  run.Start();
  EXPECT_OK(run.Put(Hello("a", 5)));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST(CallQueueTest, WhatNoReplicaTookUsesNoRetriesUntilItIsTooOld) {
  QueueRun run;
  run.answer = [](const CallRecord&) {
    return CallOutcome{.code = 503, .was_taken = false, .problem = "no GPU is free"};
  };
  run.Start();
  EXPECT_OK(run.Put(Hello("a", 0)));
  ASSERT_TRUE(run.Until([&] { return run.attempts.size() == 4; }));
  EXPECT_EQ(run.States(), "a:waiting");
  run.loop.Advance(std::chrono::hours(24));
  EXPECT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
}

TEST(CallQueueTest, ARepeatedKeyGivesTheFirstCallsId) {
  QueueRun run;
  run.Start();
  CallRecord call = Hello("first");
  call.idempotency_key = "k";
  EXPECT_EQ(run.Put(call).value(), "first");
  call.call_id = "second";
  EXPECT_EQ(run.Put(call).value(), "first");
  ASSERT_TRUE(run.Until([&] { return run.States().empty(); }));
  run.Start();
  EXPECT_EQ(run.Put(call).value(), "first") << "also after a restart";
  EXPECT_THAT(run.AttemptIds(), ElementsAre("first"));
}

TEST(CallQueueTest, BoundsAreNamed) {
  QueueRun run;
  run.options.limits.max_calls = 2;
  run.options.limits.max_bytes = 100;
  run.options.limits.max_body = 60;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  CallRecord large = Hello("large");
  large.body = std::string(61, 'x');
  EXPECT_THAT(Message(run.Put(large).status()), HasSubstr("at most 60 bytes"));
  large.body.pop_back();
  EXPECT_OK(run.Put(large));
  EXPECT_EQ(run.Put(large).status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(Message(run.Put(large).status()),
              HasSubstr("bytes of asynchronous calls are queued"));
  EXPECT_OK(run.Put(Hello("b")));
  EXPECT_THAT(Message(run.Put(Hello("c")).status()), HasSubstr("2 asynchronous calls are queued"));
  run.held[0].second({.code = 200});
  ASSERT_TRUE(run.Until([&] { return run.States() == "b:running"; }));
  EXPECT_OK(run.Put(Hello("c")));
}

TEST(CallQueueTest, CallsThatArriveWhileTheDiskIsBusyAreBounded) {
  QueueRun run;
  run.options.limits.max_arriving = 3;
  run.Start();
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 5; ++i) {
    run.queue->Put(Hello(std::to_string(i)),
                   [&](const StatusOr<std::string>& id) { ++(id.ok() ? accepted : refused); });
  }
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(run.Until([&] { return accepted == 3; }));
}

TEST(CallQueueTest, OnlySoManyRunAtOnce) {
  QueueRun run;
  run.options.index.running_of_function = 2;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(Hello(id)));
  }
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 2; }));
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.States(), "a:running b:running c:waiting");
  EXPECT_THAT(run.queue->MetricsPage(metrics::Format::kText),
              HasSubstr(R"(kgpu_function_queue_running{function_name="hello"} 2)"));
  run.held[0].second({.code = 200});
  EXPECT_TRUE(run.Until([&] { return run.held.size() == 3; }));
}

TEST(CallQueueTest, DeadCallsAreRetriedAndPurgedByHand) {
  QueueRun run;
  bool works = false;
  run.answer = [&](const CallRecord& call) {
    return CallOutcome{.code = works && call.call_id != "c" ? 200 : 500};
  };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(Hello(id)));
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

TEST(CallQueueTest, WaitingCallsCanBePurgedRunningOnesNot) {
  QueueRun run;
  run.options.index.running_of_function = 1;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  EXPECT_OK(run.Put(Hello("a")));
  EXPECT_OK(run.Put(Hello("b")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  EXPECT_EQ(run.Change(false, {.selection = {.function = "hello"}}), 1U);
  EXPECT_EQ(run.States(), "a:running");
}

TEST(CallQueueTest, TheOldestDeadCallsGoFromTheDiskToo) {
  QueueRun run;
  run.options.index.dead = 2;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 500}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_OK(run.Put(Hello(id)));
    ASSERT_TRUE(run.Until([&] { return run.States().ends_with(std::string(id) + ":dead"); }));
  }
  EXPECT_EQ(run.States(), "b:dead c:dead");
}

TEST(CallQueueTest, ADeletedFunctionsCallsGoWhateverTheirState) {
  QueueRun run;
  run.options.index.running_of_function = 1;
  run.answer = [](const CallRecord& call) {
    return CallOutcome{.code = call.call_id == "dead" ? 500 : kHeld};
  };
  run.Start();
  EXPECT_OK(run.Put(Hello("dead")));
  ASSERT_TRUE(run.Until([&] { return run.States() == "dead:dead"; }));
  EXPECT_OK(run.Put(Hello("running")));
  EXPECT_OK(run.Put(Hello("waiting")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  bool is_late_accepted = false;
  run.queue->Put(Hello("late"),
                 [&](const StatusOr<std::string>& id) { is_late_accepted = id.ok(); });
  run.queue->RemoveFunction("hello");
  ASSERT_TRUE(run.Until([&] { return is_late_accepted && run.States().empty(); }));
  run.held[0].second({.code = 200});
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.States(), "");
  EXPECT_THAT(run.List().at("functions").as_array(), SizeIs(0));
}

TEST(CallQueueTest, AFullDiskRefusesAndEverythingElseGoesOn) {
  QueueRun run;
  run.options.table.file_bytes = size_t{512} << 10;
  run.Start();
  CallRecord large = Hello("large");
  large.body = std::string(size_t{2} << 20, 'x');
  std::optional<StatusOr<std::string>> large_accepted;
  std::optional<StatusOr<std::string>> small_accepted;
  // Of one transaction: the small one must not fail with the large one.
  run.queue->Put(large, [&](const StatusOr<std::string>& id) { large_accepted = id; });
  run.queue->Put(Hello("small"), [&](const StatusOr<std::string>& id) { small_accepted = id; });
  ASSERT_TRUE(run.Until([&] { return large_accepted && small_accepted; }));
  EXPECT_EQ(large_accepted->status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(large_accepted->status()), HasSubstr("the call was not queued"));
  EXPECT_THAT(Message(large_accepted->status()), HasSubstr("full"));
  EXPECT_OK(*small_accepted);
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 1; }));
  EXPECT_THAT(run.AttemptIds(), ElementsAre("small"));
}

TEST(CallQueueTest, AFolderThatCannotBeMadeRefusesUntilItCan) {
  QueueRun run;
  run.dir.WriteFile("queue", "a file in the way");
  run.Start();
  EXPECT_FALSE(run.Put(Hello("a")).ok());
  EXPECT_THAT(run.attempts, IsEmpty());
  std::remove(run.dir.At("queue").c_str());
  EXPECT_OK(run.Put(Hello("b")));
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 1; }));
}

struct CallbackServer {
  explicit CallbackServer(EventLoop& loop)
      : server(loop, [this](const http::Request& request, const http::Responder& responder) {
          got.push_back(request);
          responder.Send(http::TextResponse(code, ""));
        }) {
    const auto listening = server.Listen("127.0.0.1:0");
    EXPECT_TRUE(listening.ok());
    url = "http://" + *listening + "/done";
  }
  int code = 200;
  std::string url;
  std::vector<http::Request> got;
  http::Server server;
};

TEST(CallQueueTest, ACallbackGetsTheAnswer) {
  QueueRun run;
  CallbackServer server(run.loop);
  run.answer = [](const CallRecord&) {
    return CallOutcome{.code = 201, .headers = {{"Content-Type", "a/b"}}, .body = "answer"};
  };
  run.Start();
  CallRecord call = Hello("a");
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

TEST(CallQueueTest, ACallbackAlsoHearsOfTheEndOfAllRetries) {
  QueueRun run;
  CallbackServer server(run.loop);
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 500}; };
  run.Start();
  CallRecord call = Hello("a", 1);
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  ASSERT_EQ(server.got.size(), 1U) << "not of each attempt";
  EXPECT_EQ(server.got[0].headers.Find("X-Function-Status"), "500");
}

TEST(CallQueueTest, ACallWhoseCallbackFailsIsDead) {
  QueueRun run;
  CallbackServer server(run.loop);
  server.code = 500;
  run.Start();
  CallRecord call = Hello("a", 1);
  call.callback = server.url;
  EXPECT_OK(run.Put(call));
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead"; }));
  EXPECT_THAT(run.List().at("calls").as_array().at(0).at("problem").as_string().c_str(),
              HasSubstr("callback 127.0.0.1"));
  EXPECT_EQ(run.attempts.size(), 1U);
}

TEST(CallQueueTest, NothingHappensAfterItsEnd) {
  QueueRun run;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  EXPECT_OK(run.Put(Hello("a")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  run.queue->Put(Hello("b"), [](const StatusOr<std::string>&) { FAIL(); });
  run.queue.reset();
  run.held[0].second({.code = 200});
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.loop.timers(), 0U);
  EXPECT_EQ(run.loop.watches(), 0U);
  run.Start();
  EXPECT_TRUE(run.Until([&] { return run.States() == "a:running b:running"; }))
      << "what was posted was written";
}

TEST(CallQueueTest, AListIsBounded) {
  QueueRun run;
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeld}; };
  run.Start();
  size_t accepted = 0;
  for (int i = 0; i < 1'020; ++i) {
    run.queue->Put(Hello(std::to_string(i)),
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
