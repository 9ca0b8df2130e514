// What only a queue in a Redis server does: gateways share it, one of them may die, the server may
// go away or be full.
#include "src/functions/redis/redis_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/functions/queue/test_queue_run.h"
#include "src/functions/redis/test_redis_storage.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"
#include "testing/tls/tls_front.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CallOutcome Hold(const CallRecord& /*call*/) {
  return {.code = kHeldAttempt};
}

// Puts a call into a queue that no QueueRun has; time stands almost still.
class OnePut {
 public:
  OnePut(FakeLoop& loop, CallQueue& queue, const std::string& id = "a", size_t bytes = 1)
      : loop_(loop) {
    CallRecord call = HelloCall(id);
    call.body = std::string(bytes, 'x');
    queue.Put(std::move(call), [this](const StatusOr<std::string>& put_id) { result_ = put_id; });
  }
  Status Wait() {
    for (int i = 0; i < 2'000 && !result_; ++i) {
      loop_.Advance(std::chrono::microseconds(1));
      (void)loop_.WaitForDescriptor(std::chrono::milliseconds(10));
    }
    return Result();
  }
  Status Result() const { return result_.value_or(Internal("no end")).status(); }

 private:
  FakeLoop& loop_;
  std::optional<StatusOr<std::string>> result_;
};

void MakeNothing(const CallRecord& /*call*/, const CallQueue::Ended& /*ended*/) {
}

class RedisQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-tools is not installed";
    }
    storage = std::make_unique<RedisStorage>();
  }

  std::unique_ptr<RedisStorage> storage;
};

TEST_F(RedisQueueTest, TwoGatewaysShareTheWork) {
  FakeLoop loop;
  QueueRun first(*storage, &loop);
  QueueRun second(*storage, &loop);
  for (QueueRun* run : {&first, &second}) {
    run->index.running_of_function = 2;
    run->answer = Hold;
    run->Start();
  }
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    EXPECT_OK(first.Put(HelloCall(id)));
  }
  ASSERT_TRUE(first.Until([&] { return first.held.size() + second.held.size() == 4; }));
  EXPECT_THAT(first.held, SizeIs(2));
  EXPECT_THAT(second.held, SizeIs(2));
  EXPECT_EQ(first.States(), second.States()) << "both see all calls";
  second.held[0].second({.code = 200});
  ASSERT_TRUE(first.Until([&] { return second.held.size() == 3; }));
  std::set<std::string> made;
  for (const QueueRun* run : {&first, &second}) {
    for (const std::string& id : run->AttemptIds()) {
      EXPECT_TRUE(made.insert(id).second) << id << " was made twice";
    }
  }
  EXPECT_THAT(made, SizeIs(5));
}

TEST_F(RedisQueueTest, AFunctionThatHangsHoldsUpNoOther) {
  QueueRun run(*storage);
  run.index.running_of_function = 2;
  run.answer = [](const CallRecord& call) {
    return CallOutcome{.code = call.function == "hello" ? kHeldAttempt : 200};
  };
  run.Start();
  for (const char* id : {"a", "b", "c", "d"}) {
    EXPECT_OK(run.Put(HelloCall(id)));
  }
  CallRecord other = HelloCall("other");
  other.function = "name.with:signs";
  EXPECT_OK(run.Put(other));
  EXPECT_TRUE(run.Until([&] { return run.States() == "a:running b:running c:waiting d:waiting"; }));
  const auto counts = run.queue->Counts();
  EXPECT_EQ(counts.at("hello").waiting, 2U);
  EXPECT_EQ(counts.at("hello").running, 2U);
}

TEST_F(RedisQueueTest, AnotherGatewayMakesTheCallsOfOneThatDied) {
  FakeLoop loop;
  FakeLoop loop_of_dead;  // nothing runs on it any more
  QueueRun dead(*storage, &loop_of_dead);
  dead.answer = Hold;
  dead.Start();
  EXPECT_OK(dead.Put(HelloCall("a")));
  ASSERT_TRUE(dead.Until([&] { return dead.held.size() == 1; }));
  QueueRun alive(*storage, &loop);
  alive.Start();
  loop.Advance(minutes(9));
  EXPECT_EQ(alive.States(), "a:running") << "its claim has not ended";
  loop.Advance(minutes(2));
  EXPECT_TRUE(alive.Until([&] { return alive.States().empty(); }));
  EXPECT_THAT(alive.AttemptIds(), ElementsAre("a"));
  // It was only slow: what it has to say of a failure comes too late.
  dead.held[0].second({.code = 500});
  dead.loop.RunUntilIdle();
  EXPECT_EQ(alive.States(), "");
}

TEST_F(RedisQueueTest, AnAttemptMayLastLongerThanAClaim) {
  FakeLoop loop;
  QueueRun slow(*storage, &loop);
  QueueRun other(*storage, &loop);
  slow.answer = Hold;
  slow.Start();
  EXPECT_OK(slow.Put(HelloCall("a")));
  ASSERT_TRUE(slow.Until([&] { return slow.held.size() == 1; }));
  other.Start();
  for (int i = 0; i < 60; ++i) {
    loop.Advance(minutes(1));
    EXPECT_EQ(other.States(), "a:running");  // also waits until the server has all commands
  }
  EXPECT_THAT(other.attempts, IsEmpty());
  slow.held[0].second({.code = 200});
  EXPECT_TRUE(slow.Until([&] { return other.States().empty(); }));
}

TEST_F(RedisQueueTest, AGatewayThatStopsGivesItsCallsBackAtOnce) {
  FakeLoop loop;
  QueueRun stopped(*storage, &loop);
  QueueRun other(*storage, &loop);
  stopped.answer = Hold;
  stopped.Start();
  EXPECT_OK(stopped.Put(HelloCall("a")));
  ASSERT_TRUE(stopped.Until([&] { return stopped.held.size() == 1; }));
  ASSERT_EQ(stopped.States(), "a:running");  // and no reply is on its way
  other.Start();
  ASSERT_EQ(other.States(), "a:running");
  stopped.queue.reset();
  const SteadyTime stop = loop.clock().Now();
  ASSERT_TRUE(other.Until([&] { return other.attempts.size() == 1; }));
  EXPECT_LT(loop.clock().Now() - stop, minutes(1));
}

TEST_F(RedisQueueTest, NothingIsLostWhenTheServerIsKilled) {
  QueueRun run(*storage);
  run.index.running_of_function = 1;
  run.answer = Hold;
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a")));
  EXPECT_OK(run.Put(HelloCall("b")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  storage->server.Kill();
  ASSERT_TRUE(run.loop.WaitForDescriptor(seconds(10)));  // the connection has ended
  const Status refused = run.Put(HelloCall("c")).status();
  EXPECT_THAT(refused, StatusIs(StatusCode::kUnavailable,
                                AllOf(HasSubstr("the call was not queued"), HasSubstr("redis"))));
  // Its end is kept until the server is back.
  run.held[0].second({.code = 200});
  run.loop.Advance(minutes(2));
  const size_t timers = run.loop.timers();
  run.loop.Advance(minutes(30));
  EXPECT_LE(run.loop.timers(), timers) << "an outage adds nothing";
  ASSERT_OK(storage->server.Start());
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 2; }));
  EXPECT_EQ(run.States(), "b:running");
  run.held[1].second({.code = 200});
  EXPECT_TRUE(run.Until([&] { return run.States().empty(); }));
  EXPECT_OK(run.Put(HelloCall("c")));
}

TEST_F(RedisQueueTest, AServerThatHangsIsGivenUp) {
  RedisQueueOptions options = storage->Options({}, {});
  options.link.answer_limit = minutes(10);
  FakeLoop loop;
  const auto queue = RedisQueue::Start(loop, options, MakeNothing);
  ASSERT_OK(queue);
  ASSERT_OK(OnePut(loop, **queue).Wait());
  storage->server.Freeze();
  const OnePut sent(loop, **queue);
  loop.RunUntilIdle();
  loop.Advance(minutes(11));
  EXPECT_THAT(sent.Result(), StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("did not answer"),
                                                                      HasSubstr("may be queued"))));
  // The kernel still connects, and nothing answers there either.
  loop.Advance(minutes(11));
  const OnePut refused(loop, **queue);
  EXPECT_THAT(refused.Result(), StatusIs(StatusCode::kUnavailable, HasSubstr("was not queued")))
      << "at once";
  storage->server.Thaw();
}

TEST_F(RedisQueueTest, ServersThatWouldLoseCallsAreRefused) {
  struct Case {
    std::vector<std::string> flags;
    std::string problem;
  };
  const std::vector<Case> cases = {{{"--appendonly", "no"}, "set appendonly yes"},
                                   {{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
                                    "set maxmemory-policy noeviction"},
                                   {{"--replicaof", "127.0.0.1 1"}, "is a replica"},
                                   {{"--requirepass", "secret"}, "check --redis-credentials"}};
  for (const Case& unfit : cases) {
    SCOPED_TRACE(unfit.problem);
    ASSERT_OK(storage->server.Start(unfit.flags));
    QueueRun run(*storage);
    run.Start();
    EXPECT_THAT(Message(run.Put(HelloCall("a")).status()), HasSubstr(unfit.problem));
  }
}

TEST_F(RedisQueueTest, ThePrimaryOfSeveralServersIsFound) {
  RedisServer replica;
  ASSERT_OK(replica.Start({"--replicaof", "127.0.0.1 1"}));
  RedisQueueOptions options = storage->Options({}, {});
  const net::Endpoint primary = options.link.address.servers[0];
  const auto unix_at = [](const std::string& path) {
    return net::Endpoint{.kind = net::Endpoint::Kind::kUnix, .host = path, .port = 0};
  };
  options.link.address.servers = {unix_at("/nowhere.sock"), unix_at(replica.socket()), primary};
  FakeLoop loop;
  const auto queue = RedisQueue::Start(loop, options, MakeNothing);
  ASSERT_OK(queue);
  EXPECT_OK(OnePut(loop, **queue).Wait()) << "without a pause between servers";
}

TEST_F(RedisQueueTest, AFullServerRefusesCallsAndStillEndsThem) {
  QueueRun run(*storage);
  run.answer = Hold;
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a")));
  EXPECT_OK(run.Put(HelloCall("b", 1)));
  EXPECT_OK(run.Put(HelloCall("c")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 3; }));
  run.queue.reset();
  ASSERT_OK(storage->server.Start({"--maxmemory", "1", "--maxmemory-policy", "noeviction"}));
  run.Start();
  run.loop.Advance(minutes(11));  // the claims of the queue before end
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 3; })) << "full, it still gives calls";
  EXPECT_THAT(run.Put(HelloCall("d")).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("purge calls")));
  for (const auto& [call, ended] : std::vector(run.held)) {
    ended({.code = call.call_id == "a" ? 200 : 500});
  }
  EXPECT_TRUE(run.Until([&] { return run.States() == "b:running c:dead"; })) << run.States();
  EXPECT_EQ(run.Change(false, {.selection = {.state = CallState::kDead}}), 1U);
  EXPECT_EQ(run.States(), "b:running");
}

TEST_F(RedisQueueTest, ThePasswordIsReadForEachConnection) {
  ASSERT_OK(storage->server.Start({"--requirepass", "second"}));
  RedisQueueOptions options = storage->Options({}, {});
  std::string password = "first";
  options.link.login = [&password] { return RedisLogin{.password = password}; };
  FakeLoop loop;
  const auto queue = RedisQueue::Start(loop, options, MakeNothing);
  ASSERT_OK(queue);
  const Status refused = OnePut(loop, **queue).Wait();
  EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Message(refused).find("first"), std::string::npos) << "a secret";
  password = "second";
  loop.Advance(seconds(10));  // the pause, then it connects again
  Status accepted = Internal("no end");
  for (int i = 0; i < 1'000 && !accepted.ok(); ++i) {
    accepted = OnePut(loop, **queue).Wait();
    (void)loop.WaitForDescriptor(std::chrono::milliseconds(10));
  }
  EXPECT_OK(accepted);
}

// The rights that docs/reference/functions.md names.
TEST_F(RedisQueueTest, AUserWithFewRightsIsEnough) {
  ASSERT_OK(storage->server.Start({"--user", "kgpu", "on", ">secret", "~kgpu:*", "&kgpu:*", "+@all",
                                   "-@admin", "-@dangerous", "+info"}));
  class UserStorage final : public QueueStorage {
   public:
    explicit UserStorage(RedisStorage& redis) : redis_(redis) {}
    QueueMaker Maker(EventLoop& loop, const CallLimits& limits, const IndexLimits& index) override {
      RedisQueueOptions options = redis_.Options(limits, index);
      options.link.login = [] { return RedisLogin{.user = "kgpu", .password = "secret"}; };
      return RedisQueueMaker(loop, options);
    }

   private:
    RedisStorage& redis_;
  };
  UserStorage user(*storage);
  QueueRun run(user);
  run.answer = [](const CallRecord&) { return CallOutcome{.code = 500}; };
  run.Start();
  for (const char* id : {"a", "b", "c"}) {
    CallRecord call = HelloCall(id);
    call.idempotency_key = id;
    EXPECT_OK(run.Put(call));
  }
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead b:dead c:dead"; }));
  EXPECT_EQ(run.Change(true, {.selection = {.ids = {"a"}}}), 1U);
  EXPECT_EQ(run.Change(false, {.selection = {.ids = {"b"}, .state = CallState::kDead}}), 1U);
  ASSERT_TRUE(run.Until([&] { return run.States() == "a:dead c:dead"; }));
  run.queue->RemoveFunction("hello");
  EXPECT_TRUE(run.Until([&] { return run.States().empty(); }));
}

TEST_F(RedisQueueTest, SpeaksTlsAndTrustsNobodyElse) {
  FakeLoop loop;
  const TestAuthority authority;
  const TestCertificate certificate = authority.Issue({.names = {"127.0.0.1"}});
  const auto server_context = tls::Context::ForServer(
      {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem});
  ASSERT_OK(server_context);
  const auto front =
      TlsFront::Listen(loop, "127.0.0.1:0", *server_context, storage->server.socket());
  ASSERT_OK(front);
  const auto put = [&](const std::string& trusted_pem) {
    RedisQueueOptions options = storage->Options({}, {});
    options.link.address = ParseRedisUrl("rediss://" + (*front)->address()).value();
    options.link.trust = [&trusted_pem] {
      return tls::Context::ForClient({.ca_pem = trusted_pem});
    };
    const auto queue = RedisQueue::Start(loop, options, MakeNothing);
    EXPECT_OK(queue);
    return OnePut(loop, **queue, "a", size_t{1} << 20).Wait();
  };
  EXPECT_OK(put(authority.certificate_pem()));
  const TestAuthority stranger("stranger");
  EXPECT_EQ(put(stranger.certificate_pem()).code(), StatusCode::kFailedPrecondition);
}

TEST_F(RedisQueueTest, TheLargestCallsRunBesideOthers) {
  QueueRun run(*storage);
  run.answer = Hold;
  run.Start();
  EXPECT_OK(run.Put(HelloCall("small")));
  CallRecord large = HelloCall("large");
  large.body = std::string(run.limits.max_body, 'x');
  for (const char* id : {"a", "b", "c"}) {
    large.call_id = id;
    EXPECT_OK(run.Put(large));
  }
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 4; }));
  EXPECT_EQ(run.attempts.back().body, large.body);
  large.body += "x";
  EXPECT_EQ(run.Put(large).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RedisQueueTest, DeletingAFunctionGoesThroughAllItsCallsAndKeys) {
  QueueRun run(*storage);
  run.index.running_of_function = 1;
  run.answer = [](const CallRecord& call) {
    return CallOutcome{.code = call.function == "hello" ? kHeldAttempt : 500};
  };
  run.Start();
  CallRecord kept = HelloCall("kept");
  kept.function = "other";
  EXPECT_OK(run.Put(kept));
  size_t accepted = 0;
  constexpr size_t kCalls = 1'200;
  for (size_t i = 0; i < kCalls; ++i) {
    CallRecord call = HelloCall(std::to_string(i));
    call.idempotency_key = "k" + call.call_id;
    run.queue->Put(std::move(call),
                   [&](const StatusOr<std::string>& id) { accepted += id.ok() ? 1 : 0; });
    if (i % 400 == 0) {
      ASSERT_TRUE(run.Until([&] { return accepted == i + 1; }));
    }
  }
  ASSERT_TRUE(run.Until([&] { return accepted == kCalls; }));
  run.queue->RemoveFunction("hello");
  EXPECT_TRUE(run.Until([&] { return run.States() == "kept:dead"; }));
  CallRecord again = HelloCall("again");
  again.idempotency_key = "k0";
  EXPECT_EQ(run.Put(again).value(), "again") << "its keys are gone, too";
}

TEST_F(RedisQueueTest, CallsOfADeletedFunctionGoOnceTheServerIsBack) {
  QueueRun run(*storage);
  run.answer = [](const CallRecord& call) {
    return CallOutcome{.code = call.call_id == "dead" ? 500 : kHeldAttempt};
  };
  run.Start();
  for (const char* id : {"dead", "old"}) {
    CallRecord call = HelloCall(id);
    call.idempotency_key = id;
    EXPECT_OK(run.Put(call));
  }
  ASSERT_TRUE(run.Until([&] { return run.States() == "dead:dead old:running"; }));
  storage->server.Kill();
  ASSERT_TRUE(run.loop.WaitForDescriptor(seconds(10)));  // the connection has ended
  EXPECT_FALSE(run.Put(HelloCall("refused")).ok());
  run.queue->RemoveFunction("hello");
  ASSERT_OK(storage->server.Start());
  // Of a new function of the same name.
  bool is_accepted = false;
  ASSERT_TRUE(run.Until([&] {
    is_accepted = is_accepted || run.Put(HelloCall("new")).ok();
    return is_accepted;
  }));
  EXPECT_TRUE(run.Until([&] { return run.States() == "new:running"; })) << run.States();
  CallRecord again = HelloCall("again");
  again.idempotency_key = "old";
  EXPECT_EQ(run.Put(again).value(), "again");
}

TEST_F(RedisQueueTest, SendsTheTextOfAScriptOnlyToAServerWithoutIt) {
  QueueRun run(*storage);
  run.Start();
  RedisLinkOptions options = storage->Options({}, {}).link;
  options.channel = "other";
  RedisLink link(run.loop, options, 99, {});
  const auto ask = [&](const std::vector<std::string_view>& words) {
    std::optional<std::string> text;
    link.Send(words, [&](const StatusOr<RedisReply>& reply) {
      text = reply.ok() ? reply->text : std::string(Message(reply.status()));
    });
    EXPECT_TRUE(run.Until([&] { return text.has_value(); }));
    return text.value_or("");
  };
  const auto calls_of = [&](std::string_view command) {
    const std::string key = fmt::format("cmdstat_{}:calls=", command);
    const std::string stats = ask({"INFO", "commandstats"});
    const size_t at = stats.find(key);
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + key.size()));
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(run.Put(HelloCall(std::to_string(i))));
  }
  ASSERT_TRUE(run.Until([&] { return run.States().empty(); }));
  const int texts = calls_of("eval");
  EXPECT_LE(texts, 9) << "one for each script";
  EXPECT_GE(calls_of("evalsha"), 40);
  EXPECT_EQ(ask({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_OK(run.Put(HelloCall("after")));
  EXPECT_TRUE(run.Until([&] { return run.States().empty(); }));
  EXPECT_GT(calls_of("eval"), texts);
}

TEST_F(RedisQueueTest, TheOldestKeysGo) {
  storage->keys.keys = 2;
  QueueRun run(*storage);
  run.Start();
  const auto put = [&](const char* id, const char* key) {
    CallRecord call = HelloCall(id);
    call.idempotency_key = key;
    run.loop.Advance(seconds(1));
    return run.Put(call).value();
  };
  EXPECT_EQ(put("a", "1"), "a");
  EXPECT_EQ(put("b", "2"), "b");
  EXPECT_EQ(put("c", "3"), "c");
  EXPECT_EQ(put("d", "3"), "c");
  EXPECT_EQ(put("e", "1"), "e");
  run.loop.Advance(std::chrono::hours(24));
  EXPECT_EQ(put("f", "1"), "f") << "too old";
}

TEST_F(RedisQueueTest, AtRestItLooksOnceInHalfAMinute) {
  QueueRun run(*storage);
  run.Start();
  // From then on the server has the scripts.
  EXPECT_OK(run.Put(HelloCall("first")));
  ASSERT_TRUE(run.Until([&] { return run.States().empty(); }));
  run.loop.Advance(minutes(11));
  (void)run.States();
  EXPECT_OK(run.Put(HelloCall("a")));
  ASSERT_TRUE(run.Until([&] { return run.States().empty(); }));
  run.loop.Advance(minutes(1));
  (void)run.States();  // its replies have come
  run.loop.Advance(seconds(2));
  EXPECT_EQ(run.loop.timers(), 2U) << "the next look, and the deadline of nothing else";
}

TEST_F(RedisQueueTest, NamesKeepQueuesApart) {
  RedisQueueOptions options = storage->Options({}, {});
  FakeLoop loop;
  options.name = "not:allowed";
  EXPECT_THAT(RedisQueue::Start(loop, options, {}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--redis-name")));
  options.name = "other";
  const auto other = RedisQueue::Start(
      loop, options,
      [](const CallRecord&, const CallQueue::Ended& ended) { ended({.code = 200}); });
  ASSERT_OK(other);
  QueueRun run(*storage, &loop);
  run.answer = Hold;
  run.Start();
  EXPECT_OK(run.Put(HelloCall("a")));
  run.loop.Advance(minutes(1));
  EXPECT_EQ(run.States(), "a:running");
  EXPECT_THAT((*other)->Counts(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::functions
