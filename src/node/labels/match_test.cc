#include "src/node/labels/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::HasSubstr;
using Outcome = MatchExpression::Outcome;

constexpr Outcome kYes = Outcome::kYes;
constexpr Outcome kNo = Outcome::kNo;
constexpr Outcome kUnlike = Outcome::kNotComparable;

struct MatchCase {
  Op op;
  std::vector<std::string> values;
  std::string_view input;
  Outcome outcome;
  bool are_versions = false;
};

TEST(MatchExpressionTest, HoldsValuesAgainstEveryOperator) {
  for (const MatchCase& one : std::initializer_list<MatchCase>{
           {Op::kIn, {"a", "b"}, "b", kYes},
           {Op::kIn, {"a", "b"}, "B", kNo},
           {Op::kIn, {""}, "", kYes},
           {Op::kNotIn, {"a"}, "b", kYes},
           {Op::kNotIn, {"a", "b"}, "b", kNo},
           {Op::kInRegexp, {"^03", "^12"}, "1200", kYes},
           {Op::kInRegexp, {"^03"}, "0203", kNo},
           {Op::kInRegexp, {"3"}, "0203", kYes},
           {Op::kExists, {}, "", kYes},
           {Op::kDoesNotExist, {}, "", kNo},
           {Op::kGt, {"5"}, "6", kYes},
           {Op::kGt, {"5"}, "5", kNo},
           {Op::kGt, {"-5"}, "-4", kYes},
           {Op::kGt, {"5"}, "+6", kYes},
           {Op::kGt, {"5"}, "x", kUnlike},
           {Op::kGt, {"5"}, "", kUnlike},
           {Op::kGt, {"5"}, "6.5", kUnlike},
           {Op::kGt, {"5"}, "99999999999999999999", kUnlike},
           {Op::kGe, {"5"}, "5", kYes},
           {Op::kGe, {"5"}, "4", kNo},
           {Op::kLt, {"5"}, "4", kYes},
           {Op::kLt, {"5"}, "5", kNo},
           {Op::kLe, {"5"}, "5", kYes},
           {Op::kLe, {"5"}, "6", kNo},
           {Op::kGtLt, {"1", "5"}, "3", kYes},
           {Op::kGtLt, {"1", "5"}, "1", kNo},
           {Op::kGtLt, {"1", "5"}, "5", kNo},
           {Op::kGeLe, {"1", "5"}, "1", kYes},
           {Op::kGeLe, {"1", "5"}, "5", kYes},
           {Op::kGeLe, {"1", "5"}, "6", kNo},
           {Op::kGeLe, {"5", "5"}, "5", kYes},
           {Op::kIsTrue, {}, "true", kYes},
           {Op::kIsTrue, {}, "True", kNo},
           {Op::kIsTrue, {}, "1", kNo},
           {Op::kIsFalse, {}, "false", kYes},
           {Op::kIsFalse, {}, "", kNo},
           {Op::kGe, {"5.10"}, "5.9.1", kNo, true},
           {Op::kGe, {"5.10"}, "5.15.0-91-generic", kYes, true},
           {Op::kGe, {"v5.14.0"}, "5.14.0-427.13.1.el9_4.x86_64", kYes, true},
           {Op::kLt, {"6"}, "5.99.99", kYes, true},
           {Op::kGtLt, {"5.4", "6"}, "5.10", kYes, true},
           {Op::kGeLe, {"5.4", "5.4"}, "5.4.0", kYes, true},
           {Op::kGe, {"5"}, "five", kUnlike, true},
           {Op::kGe, {"5"}, "1.2.3.4", kUnlike, true},
       }) {
    const auto expression = MatchExpression::Create(one.op, one.values, one.are_versions);
    ASSERT_OK(expression);
    EXPECT_EQ(expression->Match({.exists = true, .value = one.input}), one.outcome)
        << expression->Text() << " of \"" << one.input << '"';
  }
}

// Of what is missing, and of flags, which have no value.
TEST(MatchExpressionTest, OnlyExistenceIsKnownWithoutAValue) {
  for (const Op op : {Op::kIn, Op::kNotIn, Op::kInRegexp, Op::kGt, Op::kGtLt, Op::kIsTrue,
                      Op::kIsFalse, Op::kExists, Op::kDoesNotExist}) {
    std::vector<std::string> values;
    if (op == Op::kGtLt) {
      values = {"1", "2"};
    } else if (op < Op::kExists || op == Op::kGt) {
      values = {"1"};
    }
    const auto expression = MatchExpression::Create(op, values);
    ASSERT_OK(expression);
    EXPECT_EQ(expression->Match({.exists = true, .value = std::nullopt}),
              op == Op::kExists ? kYes : kNo)
        << ToString(op);
    EXPECT_EQ(expression->Match({}), op == Op::kDoesNotExist ? kYes : kNo) << ToString(op);
  }
}

TEST(MatchExpressionTest, RefusesValuesThatDoNotFitTheOperator) {
  struct Refusal {
    Op op;
    std::vector<std::string> values;
    bool are_versions;
    std::string_view error;
  };
  for (const Refusal& one : std::initializer_list<Refusal>{
           {Op::kIn, {}, false, "In takes one or more values, not 0"},
           {Op::kExists, {"a"}, false, "Exists takes no values, not 1"},
           {Op::kIsTrue, {"a"}, false, "IsTrue takes no values"},
           {Op::kGt, {"1", "2"}, false, "Gt takes one value, not 2"},
           {Op::kGtLt, {"1"}, false, "GtLt takes two values: minimum and maximum, not 1"},
           {Op::kGt, {"a"}, false, "\"a\" must be an integer"},
           {Op::kGt, {"5.10"}, false, "\"5.10\" must be an integer: add type: version"},
           {Op::kGt, {"a"}, true, "\"a\" must be a version such as 5.10"},
           {Op::kGtLt, {"5", "5"}, false, "nothing between 5 and 5"},
           {Op::kGeLe, {"6", "5"}, false, "the smaller value first"},
           {Op::kGtLt, {"5.10", "5.9"}, true, "there is nothing between"},
           {Op::kIn, {"1"}, true, "In does not compare versions: remove type"},
           {Op::kInRegexp, {"("}, false, "\"(\" must be a regular expression: missing )"},
           {Op::kInRegexp, {std::string(5000, 'a')}, false, "5000 bytes, limit 4096"},
           {Op::kInRegexp, {"((a{500}){500}){500}"}, false, "must be a regular expression"},
       }) {
    EXPECT_THAT(MatchExpression::Create(one.op, one.values, one.are_versions),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(one.error))))
        << ToString(one.op);
  }
}

TEST(MatchExpressionTest, SaysWhatItAsks) {
  const auto text = [](Op op, std::vector<std::string> values, bool are_versions = false) {
    return MatchExpression::Create(op, std::move(values), are_versions)->Text();
  };
  EXPECT_EQ(text(Op::kIn, {"a", "b"}), "In a, b");
  EXPECT_EQ(text(Op::kExists, {}), "Exists");
  EXPECT_EQ(text(Op::kGe, {"5.10"}, true), "Ge 5.10 (versions)");
}

}  // namespace
}  // namespace kgpu::labels
