#include "src/functions/gateway/local_answer.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace kgpu::gateway {
namespace {

struct Seen {
  int code = 0;
  std::string body{};
  bool has_ended = false;
  bool is_open = true;
};

class SeenCaller final : public Caller {
 public:
  explicit SeenCaller(Seen& seen) : seen_(seen) {}
  void Send(http::Response response) override {
    seen_ = {.code = response.code, .body = std::move(response.body), .has_ended = true};
  }
  void Begin(http::Response head) override { seen_.code = head.code; }
  bool Write(std::string_view bytes) override {
    seen_.body += bytes;
    return seen_.is_open;
  }
  void End() override { seen_.has_ended = true; }
  void Fail(int code, std::string_view /*text*/) override {
    if (seen_.code == 0) {
      seen_.code = code;
    }
  }
  bool is_open() const override { return seen_.is_open; }
  size_t pending() const override { return 0; }
  void OnDrained(std::function<void()> /*task*/) override {}
  void OnGone(std::function<void()> /*task*/) override {}

 private:
  Seen& seen_;
};

class LocalAnswerTest : public ::testing::Test {
 protected:
  std::shared_ptr<LocalAnswer> New() {
    return std::make_shared<LocalAnswer>(std::make_unique<SeenCaller>(seen_),
                                         [this](const RelayResult& result) {
                                           ++ends_;
                                           result_ = result;
                                         });
  }
  Seen seen_;
  int ends_ = 0;
  RelayResult result_;
};

TEST_F(LocalAnswerTest, PassesOnOneAnswer) {
  const auto answer = New();
  EXPECT_TRUE(answer->is_waiting());
  answer->Send({.code = 201, .body = "done"});
  answer->Send({.code = 500, .body = "again"});
  EXPECT_EQ(seen_.code, 201);
  EXPECT_EQ(seen_.body, "done");
  EXPECT_FALSE(answer->is_waiting());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(result_.code, 201);
}

TEST_F(LocalAnswerTest, PassesOnAnAnswerInPieces) {
  auto answer = New();
  EXPECT_FALSE(answer->Write("before its head"));
  answer->Begin({.code = 200});
  EXPECT_TRUE(answer->Write("a"));
  EXPECT_TRUE(answer->Write("b"));
  EXPECT_EQ(ends_, 0);
  answer->End();
  EXPECT_FALSE(answer->Write("after its end"));
  answer.reset();
  EXPECT_EQ(seen_.body, "ab");
  EXPECT_TRUE(seen_.has_ended);
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(result_.fault, UpstreamFault::kNone);
}

TEST_F(LocalAnswerTest, AnswersForAServiceThatDoesNot) {
  New().reset();
  EXPECT_EQ(seen_.code, 500);
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(result_.code, 500);
}

TEST_F(LocalAnswerTest, TellsACutAnswerFromAWholeOne) {
  auto answer = New();
  answer->Begin({.code = 200});
  answer->Write("half");
  answer.reset();
  EXPECT_FALSE(seen_.has_ended);
  EXPECT_EQ(result_.code, 200);
  EXPECT_EQ(result_.fault, UpstreamFault::kCut);
}

TEST_F(LocalAnswerTest, CountsCallersThatLeft) {
  auto answer = New();
  seen_.is_open = false;
  EXPECT_FALSE(answer->is_waiting());
  answer.reset();
  EXPECT_EQ(result_.code, kCallerLeftCode);
}

}  // namespace
}  // namespace kgpu::gateway
