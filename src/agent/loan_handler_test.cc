#include "src/agent/loan_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/loans/test_stock.h"
#include "src/platform/base/log.h"
#include "src/platform/doc/doc.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LoanHandlerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, std::string_view line) { log_.emplace_back(line); });
    Start();
  }
  void TearDown() override {
    handler_.reset();
    disk_.reset();
    SetLogSink({});
  }
  // As after a kill: only the file stays.
  void Start() {
    handler_.reset();
    disk_ = std::make_unique<DiskWorker>(*loop_);
    handler_ =
        std::make_unique<LoanHandler>(*loop_, *disk_, dir_.At("state/loans.json"), offered_,
                                      LoanHandlerPeers{.stock = [this] { return stock_.stock(); },
                                                       .changed = [this] { ++changes_; },
                                                       .refused = [this] { ++refusals_; }});
  }
  http::Response Ask(const std::string& method, const std::string& target,
                     const std::string& body = "") {
    http::Request request{.method = method, .target = target, .body = body};
    EXPECT_OK(http::SplitTarget(request));
    std::optional<http::Response> answer;
    bool is_running = false;
    EXPECT_TRUE(handler_->Answer(request, [&](http::Response response) {
      answer = std::move(response);
      if (is_running) {
        loop_->Quit();
      }
    }));
    if (!answer) {
      is_running = true;
      loop_->Run();
    }
    return answer.value_or(http::Response{});
  }
  static json::value Parsed(const http::Response& response) {
    const auto value = doc::Parse(response.body, doc::Format::kJson, "answer");
    EXPECT_OK(value);
    return value.value_or(json::object());
  }
  http::Response Lend(const std::string& holder, size_t count = 1) {
    return Ask("POST", "/v1/loans",
               fmt::format(R"({{"holder": "{}", "count": {}}})", holder, count));
  }
  size_t CountLoans(const std::string& query = "") {
    return Parsed(Ask("GET", "/v1/loans" + query)).at("loans").as_array().size();
  }

  TempDir dir_;
  std::vector<std::string> log_;
  loans::TestStock stock_{{"T4", "T4"}};
  pools::Assignment offered_;
  int changes_ = 0;
  int refusals_ = 0;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::unique_ptr<DiskWorker> disk_;
  std::unique_ptr<LoanHandler> handler_;
};

TEST_F(LoanHandlerTest, LendsOnceTheLedgerIsOnTheDisk) {
  const http::Response response = Lend("fn/a/1");
  EXPECT_EQ(response.code, 201);
  const json::value loan = Parsed(response);
  EXPECT_EQ(loan.at("uuids").at(0).as_string(), loans::TestGpu(0).str());
  EXPECT_EQ(loan.at("devices").at(0).as_string(), "kgpu.dev/gpu=" + loans::TestGpu(0).str());
  EXPECT_THAT(dir_.ReadFile("state/loans.json"), HasSubstr("fn/a/1"));
  EXPECT_EQ(changes_, 1);
}

TEST_F(LoanHandlerTest, TheSameHolderGetsTheSameLoanAlsoAfterAKill) {
  const http::Response first = Lend("fn/a/1");
  EXPECT_EQ(Lend("fn/a/1").code, 200);
  Start();
  const http::Response again = Lend("fn/a/1");
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.body, first.body);
}

TEST_F(LoanHandlerTest, TellsNotNowFromNeverAndFromNonsense) {
  ASSERT_EQ(Lend("fn/a/1", 2).code, 201);
  const http::Response now = Lend("fn/b/1");
  EXPECT_EQ(now.code, 409);
  EXPECT_THAT(std::string(Parsed(now).at("error").as_string()), HasSubstr("is lent to fn/a/1"));
  EXPECT_EQ(refusals_, 1);
  EXPECT_EQ(Lend("fn/b/1", 3).code, 422);
  EXPECT_EQ(Lend("a b").code, 400);
  EXPECT_EQ(Ask("PUT", "/v1/loans").code, 405);
  EXPECT_EQ(Ask("GET", "/v1/loans/x").code, 405);
}

TEST_F(LoanHandlerTest, ALoanEndsByDelete) {
  const std::string id(Parsed(Lend("fn/a/1", 2)).at("id").as_string());
  EXPECT_EQ(Ask("DELETE", "/v1/loans/" + id).code, 204);
  EXPECT_EQ(Ask("DELETE", "/v1/loans/" + id).code, 204);
  EXPECT_EQ(Lend("fn/b/1", 2).code, 201);
}

TEST_F(LoanHandlerTest, ListsLoansByTheStartOfTheirHolder) {
  ASSERT_EQ(Lend("fn/a/1").code, 201);
  ASSERT_EQ(Lend("fn/b/1").code, 201);
  EXPECT_EQ(CountLoans(), 2);
  EXPECT_EQ(CountLoans("?holder=fn/a/"), 1);
  EXPECT_EQ(CountLoans("?holder=x"), 0);
  stock_.MarkUnhealthy(1);
  const json::value loans = Parsed(Ask("GET", "/v1/loans"));
  EXPECT_TRUE(loans.at("loans").at(0).at("healthy").as_bool());
  EXPECT_FALSE(loans.at("loans").at(1).at("healthy").as_bool());
}

TEST_F(LoanHandlerTest, ADiskThatRefusesLendsNothing) {
  dir_.WriteFile("state", "no folder");
  EXPECT_EQ(Lend("fn/a/1").code, 503);
  EXPECT_THAT(handler_->ledger().loans(), IsEmpty());
  EXPECT_NE(handler_->problem(), "");
}

TEST_F(LoanHandlerTest, WhatIsLentIsNotOfferedToTheKubelet) {
  ASSERT_EQ(Lend("fn/a/1").code, 201);
  loans::TestStock kubelets({"T4", "T4"}, "");
  handler_->Withhold(kubelets.assignment());
  ASSERT_THAT(kubelets.assignment().resources, SizeIs(1));
  ASSERT_THAT(kubelets.assignment().resources[0].slots, SizeIs(1));
  EXPECT_EQ(kubelets.assignment().resources[0].slots[0].gpu, loans::TestGpu(1));
  EXPECT_THAT(kubelets.assignment().unassigned.at(0).reason, HasSubstr("lent to fn/a/1"));
}

TEST_F(LoanHandlerTest, WithAnUnreadableLedgerOnlyWhatTheKubeletHadIsOffered) {
  dir_.MakeDir("state");
  dir_.WriteFile("state/loans.json", "torn");
  loans::TestStock kubelets({"T4", "T4"}, "");
  offered_ = kubelets.assignment();
  offered_.resources.at(0).slots.pop_back();
  Start();
  EXPECT_EQ(Lend("fn/a/1").code, 503);
  EXPECT_EQ(Ask("GET", "/v1/loans").code, 503);
  EXPECT_EQ(Ask("DELETE", "/v1/loans/x").code, 503);
  handler_->Withhold(kubelets.assignment());
  ASSERT_THAT(kubelets.assignment().resources.at(0).slots, SizeIs(1));
  EXPECT_EQ(kubelets.assignment().resources[0].slots[0].gpu, loans::TestGpu(0));
  EXPECT_EQ(dir_.ReadFile("state/loans.json"), "torn");
}

TEST_F(LoanHandlerTest, OtherPathsAreNotItsOwn) {
  http::Request request{.method = "GET", .path = "/v1/loansx"};
  EXPECT_FALSE(handler_->Answer(request, [](const http::Response&) {}));
}

}  // namespace
}  // namespace kgpu::agent
