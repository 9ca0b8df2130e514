#include "src/functions/watchdog/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "src/functions/watchdog/call_text.h"
#include "testing/fake_loop.h"

namespace kgpu::watchdog {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr milliseconds kPatience{30'000};

// What a caller has seen: "201 data data." with a full stop at its end, or "timeout: …".
struct Seen {
  std::string text;
  bool is_over = false;
  bool is_gone = false;  // Flush says so
  size_t pending = 0;
  std::function<void()> drained;
  std::function<void()> leave;  // tells the pool that the caller leaves
};

class TestCaller final : public Caller {
 public:
  explicit TestCaller(Seen& seen) : seen_(seen) {}
  void Head(CallHead head) override { seen_.text += fmt::format("{} ", head.status); }
  void Data(std::string_view bytes) override {
    seen_.text += bytes.size() > 100 ? fmt::format("[{}]", bytes.size()) : std::string(bytes);
  }
  bool Flush() override { return !seen_.is_gone; }
  void End() override {
    seen_.text += ".";
    seen_.is_over = true;
  }
  void Fail(const Fault& fault) override {
    seen_.text += fmt::format("{}: {}", FaultWord(fault.kind), fault.text);
    seen_.is_over = true;
  }
  size_t pending() const override { return seen_.pending; }
  void OnDrained(std::function<void()> task) override { seen_.drained = std::move(task); }
  void OnGone(std::function<void()> task) override { seen_.leave = std::move(task); }

 private:
  Seen& seen_;
};

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // As the watchdog's main does.
    ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);
  }
  void Start(const DispatchLimits& limits, const char* kind = "one",
             uint64_t max_output = 1 << 20) {
    pool_ = std::make_unique<Pool>(
        loop_, PoolOptions{.program = {.argv = {KGPU_TEST_WORKER, kind}, .environment = {}},
                           .limits = limits,
                           .max_output = max_output});
    pool_->Start();
    if (std::string_view(kind) != "broken") {
      RunUntil([&] { return pool_->is_ready(); });
    }
  }
  void Call(Seen& seen, std::string body) {
    const http::Headers headers;
    pool_->Call({.text = CallText({.headers = headers}).value(), .body = std::move(body)},
                std::make_unique<TestCaller>(seen));
  }
  // The worker runs in real time, timeouts in the loop's.
  template <typename Condition>
  void RunUntil(Condition is_done) {
    loop_.RunUntilIdle();
    while (!is_done()) {
      ASSERT_TRUE(loop_.WaitForDescriptor(kPatience)) << "nothing happens";
    }
  }
  std::string AnswerTo(const std::string& body) {
    Seen seen;
    Call(seen, body);
    RunUntil([&] { return seen.is_over; });
    return seen.text;
  }

  FakeLoop loop_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolTest, PassesAnswers) {
  Start({});
  EXPECT_EQ(AnswerTo("hdde"), "201 datadata.");
  EXPECT_EQ(AnswerTo("e"), ".");
  EXPECT_EQ(AnswerTo("df"), "datahandler: no such thing");
  EXPECT_EQ(AnswerTo("oe"), ".") << "an end of another call is ignored";
  EXPECT_EQ(pool_->status().calls, 4U);
  EXPECT_EQ(pool_->status().restarts, 0U);
}

TEST_F(PoolTest, RestartsAProcessThatEnds) {
  Start({});
  EXPECT_THAT(AnswerTo("dx"), StartsWith("datacrash: the handler's process is gone: exit code 7"));
  EXPECT_EQ(AnswerTo("de"), "data.");
  EXPECT_EQ(pool_->status().restarts, 1U);
}

TEST_F(PoolTest, EndsAProcessThatBreaksTheProtocol) {
  Start({});
  EXPECT_THAT(AnswerTo("n"), HasSubstr("is no head of a frame"));
  EXPECT_EQ(AnswerTo("e"), ".");
  EXPECT_EQ(pool_->status().restarts, 1U);
}

TEST_F(PoolTest, AnInvalidAnswerFailsItsCallAlone) {
  Start({.concurrency = 3}, "concurrent");
  Seen beside;
  Call(beside, "d");
  RunUntil([&] { return beside.text == "data"; });
  EXPECT_THAT(AnswerTo("i"),
              StartsWith("reply: the handler's answer is no valid HTTP response: status"));
  EXPECT_THAT(AnswerTo("iddhe"), StartsWith("reply: ")) << "the rest of it is dropped";
  EXPECT_THAT(AnswerTo("dhe"), HasSubstr("must precede the output"));
  EXPECT_FALSE(beside.is_over) << beside.text;
  EXPECT_EQ(AnswerTo("de"), "data.");
  EXPECT_EQ(pool_->status().restarts, 0U);
  EXPECT_EQ(pool_->status().running, 2U) << "one that has not returned keeps its place";
}

TEST_F(PoolTest, EndsAProcessThatClosesItsOutput) {
  Start({});
  Seen seen;
  Call(seen, "c");
  RunUntil([&] { return loop_.timers() >= 2; });  // the deadline, and the end of the process
  loop_.Advance(seconds(1));
  RunUntil([&] { return seen.is_over; });
  EXPECT_THAT(seen.text, StartsWith("crash: "));
}

TEST_F(PoolTest, KillsAProcessThatHangs) {
  Start({.timeout = seconds(5)});
  Seen seen;
  Call(seen, "d-");
  RunUntil([&] { return seen.text == "data"; });
  loop_.Advance(seconds(5));
  EXPECT_THAT(seen.text, StartsWith("datatimeout: the handler did not finish within 5s"));
  EXPECT_EQ(AnswerTo("e"), ".");
  EXPECT_EQ(pool_->status().restarts, 1U);
}

TEST_F(PoolTest, LimitsOutput) {
  Start({}, "one", 100'000);
  EXPECT_THAT(AnswerTo("bb"), StartsWith("[65536]output: the handler's output exceeds"));
  EXPECT_EQ(AnswerTo("be"), "[65536].");
}

TEST_F(PoolTest, GivesUpTheCallOfACallerThatIsGone) {
  Start({.concurrency = 2}, "concurrent");
  Seen gone;
  gone.is_gone = true;
  Call(gone, "d");
  RunUntil([&] { return gone.text == "data"; });
  EXPECT_EQ(pool_->status().running, 1U) << "the handler has not finished";
  EXPECT_EQ(AnswerTo("e"), ".");
  EXPECT_FALSE(gone.is_over);
}

TEST_F(PoolTest, GivesUpTheCallOfACallerThatLeavesBeforeAnyOutput) {
  Start({.concurrency = 1, .timeout = std::chrono::seconds(5)});
  Seen running;
  Call(running, "-");
  RunUntil([&] { return pool_->status().running == 1; });
  Seen waiting;
  Call(waiting, "d");
  Seen last;
  Call(last, "e");
  waiting.leave();
  EXPECT_FALSE(waiting.is_over);
  running.leave();
  // The handler does not listen: its process is replaced when its time is over.
  loop_.Advance(std::chrono::seconds(5));
  RunUntil([&] { return last.is_over; });
  EXPECT_EQ(last.text, ".");
  EXPECT_EQ(waiting.text, "") << "it was not made";
  EXPECT_FALSE(running.is_over);
}

TEST_F(PoolTest, LimitsTheInputsThatWait) {
  pool_ = std::make_unique<Pool>(
      loop_, PoolOptions{.program = {.argv = {KGPU_TEST_WORKER, "one"}, .environment = {}},
                         .limits = {.timeout = seconds(5)},
                         .max_waiting = 1'000});
  pool_->Start();
  RunUntil([&] { return pool_->is_ready(); });
  Seen running;
  Call(running, "-" + std::string(899, ' '));
  RunUntil([&] { return pool_->status().running == 1; });
  Seen waiting;
  Call(waiting, "e" + std::string(699, ' '));
  Seen refused;
  Call(refused, "e" + std::string(399, ' '));
  EXPECT_THAT(refused.text, StartsWith("overload: "));
  EXPECT_FALSE(waiting.is_over);
  Seen leaves;
  Call(leaves, std::string(300, ' '));
  leaves.leave();
  Seen last;
  Call(last, "e" + std::string(299, ' '));
  loop_.Advance(seconds(5));  // the end of the one that runs
  RunUntil([&] { return last.is_over; });
  EXPECT_EQ(waiting.text, ".");
  EXPECT_EQ(last.text, ".");
  EXPECT_EQ(AnswerTo("e" + std::string(899, ' ')), ".");
}

// The memory of such inputs is given back when they are gone, not only when their calls have ended.
TEST_F(PoolTest, IsWritingWhileAnInputIsQueuedForASlowWorker) {
  Start({.concurrency = 2, .timeout = seconds(5)}, "concurrent");
  Seen pauses;
  Call(pauses, "dp");
  RunUntil([&] { return pauses.text == "data"; });
  EXPECT_FALSE(pool_->is_writing());
  Seen large;
  Call(large, std::string(size_t{8} << 20, ' '));
  large.leave();
  loop_.RunUntilIdle();
  EXPECT_TRUE(pool_->is_writing());
  loop_.Advance(seconds(5));
  RunUntil([&] { return pauses.is_over; });
  EXPECT_EQ(AnswerTo("e"), ".") << "a new process answers";
  EXPECT_FALSE(pool_->is_writing());
}

TEST_F(PoolTest, StopsReadingForASlowCaller) {
  Start({});
  Seen slow;
  slow.pending = size_t{1} << 20;
  Call(slow, "bd-");
  RunUntil([&] { return slow.drained != nullptr; });
  const size_t watches = loop_.watches();
  slow.pending = 0;
  slow.drained();
  EXPECT_EQ(loop_.watches(), watches + 1) << "it is read again";
}

TEST_F(PoolTest, NamesWantOfMemoryAsTheCause) {
  uint64_t kills = 5;
  pool_ = std::make_unique<Pool>(
      loop_, PoolOptions{.program = {.argv = {KGPU_TEST_WORKER, "one"}, .environment = {}},
                         .limits = {},
                         .memory_kills = [&kills] { return kills; }});
  pool_->Start();
  RunUntil([&] { return pool_->is_ready(); });
  EXPECT_EQ(AnswerTo("x"), "crash: the handler's process is gone: exit code 7");
  EXPECT_EQ(AnswerTo("e"), ".");
  kills = 6;
  EXPECT_THAT(AnswerTo("x"), HasSubstr("exit code 7: out of memory: raise limits.memory"));
  EXPECT_EQ(AnswerTo("e"), ".");
  EXPECT_EQ(AnswerTo("x"), "crash: the handler's process is gone: exit code 7") << "not again";
}

TEST_F(PoolTest, ReportsAProgramThatDoesNotStart) {
  Start({}, "broken");
  Seen seen;
  Call(seen, "e");
  for (int i = 0; i < 3 && !seen.is_over; ++i) {
    RunUntil([&] { return seen.is_over || pool_->status().workers == 0; });
    loop_.Advance(seconds(1));
  }
  EXPECT_THAT(seen.text, StartsWith("starting: the handler's process does not start: exit code 5"));
  EXPECT_THAT(pool_->status().problem, HasSubstr("exit code 5"));
}

TEST_F(PoolTest, Drains) {
  Start({.concurrency = 1});
  Seen first;
  Call(first, "d-");
  RunUntil([&] { return first.text == "data"; });
  bool is_done = false;
  pool_->Drain(seconds(3), [&] { is_done = true; });
  EXPECT_THAT(AnswerTo("e"), StartsWith("stopping: "));
  loop_.Advance(seconds(3));
  EXPECT_THAT(first.text, StartsWith("datastopping: "));
  RunUntil([&] { return is_done; });
  EXPECT_EQ(pool_->status().workers, 0U);
}

TEST_F(PoolTest, AsksIdleProcessesToEnd) {
  Start({.processes = 2});
  bool is_done = false;
  pool_->Drain(seconds(3), [&] { is_done = true; });
  RunUntil([&] { return is_done; });
  EXPECT_EQ(pool_->status().state, "draining");
}

}  // namespace
}  // namespace kgpu::watchdog
