#include "src/node/loans/loan_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace kgpu::loans {
namespace {

using ::testing::HasSubstr;

TEST(LoanRequestTest, ReadsEveryField) {
  const auto request = ParseLoanRequest(
      R"({"holder": "fn/a/1", "count": 2, "models": ["A100-*", "T4"], "memory": 21474836480})");
  EXPECT_THAT(
      request,
      IsOkAndHolds(LoanRequest{
          .holder = "fn/a/1", .count = 2, .models = {"A100-*", "T4"}, .memory = GibiBytes(20)}));
}

TEST(LoanRequestTest, OnlyTheHolderIsRequired) {
  EXPECT_THAT(ParseLoanRequest(R"({"holder": "a"})"), IsOkAndHolds(LoanRequest{.holder = "a"}));
}

struct RefusedRequest {
  std::string_view body;
  std::string_view error;
};

TEST(LoanRequestTest, NamesTheFieldOfAnError) {
  constexpr RefusedRequest kRefused[] = {
      {"", "loan"},
      {"[]", "loan"},
      {"{}", "holder: missing"},
      {R"({"holder": "a b"})", "holder: \"a b\" must be"},
      {R"({"holder": 7})", "holder"},
      {R"({"holder": "a", "count": 0})", "count"},
      {R"({"holder": "a", "count": 65})", "count"},
      {R"({"holder": "a", "count": "2"})", "count"},
      {R"({"holder": "a", "memory": -1})", "memory"},
      {R"({"holder": "a", "models": [""]})", "models"},
      {R"({"holder": "a", "models": ["a\u0001"]})", "models"},
      {R"({"holder": "a", "model": "T4"})", "did you mean \"models\""},
      {R"({"holder": "a", "holder": "b"})", "holder"},
  };
  for (const RefusedRequest& refused : kRefused) {
    EXPECT_THAT(ParseLoanRequest(refused.body),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(refused.error)))
        << refused.body;
  }
}

TEST(LoanRequestTest, SizesAreLimited) {
  std::string models;
  for (size_t i = 0; i <= kMaxModels; ++i) {
    models += fmt::format("{}\"T{}\"", i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(ParseLoanRequest(fmt::format(R"({{"holder": "a", "models": [{}]}})", models)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("limit of 32")));
  EXPECT_THAT(ParseLoanRequest(std::string(kMaxRequestBytes + 1, ' ')),
              StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::loans
