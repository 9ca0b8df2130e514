#include "src/functions/replicas/waiting_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kgpu::functions {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OpenSink final : public CallSink {
 public:
  explicit OpenSink(std::shared_ptr<bool> is_open) : is_open_(std::move(is_open)) {}
  bool is_open() const override { return *is_open_; }
  void Refuse(const CallFault& /*fault*/) override {}
  void Head(int /*code*/, const http::Headers& /*headers*/) override {}
  bool Data(std::string_view /*bytes*/) override { return true; }
  void End() override {}

 private:
  std::shared_ptr<bool> is_open_;
};

class WaitingCallsTest : public ::testing::Test {
 protected:
  static SteadyTime At(int64_t second) { return SteadyTime(seconds(second)); }

  void Add(const std::string& id, int64_t deadline, int64_t arrived = 0) {
    waiting_.Add(NewCall(id, arrived), At(deadline));
  }
  FunctionCall NewCall(const std::string& id, int64_t arrived = 0) {
    return {.request = {},
            .call_id = id,
            .sink = std::make_unique<OpenSink>(is_open_),
            .arrived = At(arrived)};
  }
  // Hands over up to `most` calls.
  std::vector<std::string> TakeUpTo(size_t most) {
    std::vector<std::string> taken;
    waiting_.HandOver([&](const FunctionCall& call) {
      if (taken.size() == most) {
        return false;
      }
      taken.push_back(call.call_id);
      return true;
    });
    return taken;
  }

  std::shared_ptr<bool> is_open_ = std::make_shared<bool>(true);
  int told_ = 0;
  std::vector<std::pair<std::string, int>> refused_;
  WaitingCalls waiting_{[this](const FunctionCall& call, const CallFault& fault) {
                          refused_.emplace_back(call.call_id, fault.code);
                        },
                        [this] { ++told_; }};
};

TEST_F(WaitingCallsTest, HandsOverInTheOrderOfArrival) {
  Add("a", 10);
  Add("b", 10);
  Add("c", 10);
  EXPECT_THAT(TakeUpTo(2), ElementsAre("a", "b"));
  EXPECT_EQ(waiting_.size(), 1);
  waiting_.PutBack(NewCall("b"), At(10));
  EXPECT_THAT(TakeUpTo(9), ElementsAre("b", "c"));
  EXPECT_TRUE(waiting_.empty());
  EXPECT_FALSE(waiting_.next_deadline().has_value());
}

TEST_F(WaitingCallsTest, PassesOverCallersThatLeft) {
  Add("a", 10);
  *is_open_ = false;
  EXPECT_THAT(TakeUpTo(9), IsEmpty());
  EXPECT_THAT(refused_, ElementsAre(std::pair("a", 499)));
}

TEST_F(WaitingCallsTest, DropsCallersThatLeftWhereverTheyWait) {
  Add("first", 10);
  is_open_ = std::make_shared<bool>(true);
  Add("left", 10);
  *is_open_ = false;
  waiting_.DropLeft();
  EXPECT_THAT(refused_, ElementsAre(std::pair("left", 499)));
  EXPECT_THAT(TakeUpTo(9), ElementsAre("first"));
}

TEST_F(WaitingCallsTest, RefusesEachAtItsOwnDeadline) {
  Add("late", 30);
  Add("early", 10);
  EXPECT_EQ(waiting_.next_deadline(), At(10));
  waiting_.RefuseExpired(At(9));
  EXPECT_THAT(refused_, IsEmpty());
  waiting_.RefuseExpired(At(10));
  EXPECT_THAT(refused_, ElementsAre(std::pair("early", 503)));
  EXPECT_EQ(waiting_.next_deadline(), At(30));
}

TEST_F(WaitingCallsTest, TellsTheCallersDeadlineFromOurs) {
  FunctionCall call = NewCall("mine");
  call.deadline = At(5);
  waiting_.Add(std::move(call), At(5));
  waiting_.RefuseExpired(At(5));
  EXPECT_THAT(refused_, ElementsAre(std::pair("mine", 504)));
}

TEST_F(WaitingCallsTest, RefusesThoseThatArrivedBefore) {
  Add("a", 10, 1);
  Add("b", 10, 2);
  Add("c", 10, 3);
  waiting_.RefuseUntil(At(2), {503, "start", "it does not start"});
  EXPECT_THAT(refused_, ElementsAre(std::pair("a", 503), std::pair("b", 503)));
  waiting_.RefuseAll({500, "stopping", "it ends"});
  EXPECT_THAT(refused_, SizeIs(3));
  EXPECT_TRUE(waiting_.empty());
}

TEST_F(WaitingCallsTest, IsBounded) {
  for (int i = 0; i < 1'001; ++i) {
    Add(std::to_string(i), 10);
  }
  EXPECT_THAT(refused_, ElementsAre(std::pair("1000", 429)));
  waiting_.RefuseAll({500, "stopping", "it ends"});
  // A call that was refused leaves nothing behind: there is room again.
  Add("next", 10);
  EXPECT_EQ(waiting_.size(), 1);
}

TEST_F(WaitingCallsTest, IsBoundedInBytes) {
  constexpr size_t kLarge = size_t{100} << 20;
  for (int i = 0; i < 3; ++i) {
    FunctionCall call = NewCall(std::to_string(i));
    call.request.body.assign(kLarge, 'x');
    waiting_.Add(std::move(call), At(10));
  }
  EXPECT_THAT(refused_, ElementsAre(std::pair("2", 429)));
}

}  // namespace
}  // namespace kgpu::functions
