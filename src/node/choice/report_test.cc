#include "src/node/choice/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::choice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Report Applied() {
  return {.state = State::kApplied,
          .is_running = true,
          .name = "mig",
          .from = "kgpu-configs",
          .file = "/etc/kgpu/configs/mig.yaml",
          .why = "label kgpu.dev/config=mig",
          .is_chosen_by_node = true};
}

TEST(ReportTest, AnOrdinaryNodeNeedsNoCondition) {
  EXPECT_EQ(ConditionOf({.is_running = true, .why = "default"}), std::nullopt);
  EXPECT_EQ(ConditionOf({.state = State::kWaiting, .is_chosen_by_node = true}), std::nullopt);
}

TEST(ReportTest, AConditionSaysWhatRunsAndWhy) {
  const auto condition = ConditionOf(Applied());
  ASSERT_TRUE(condition);
  EXPECT_EQ(*condition, (Condition{"True", "ConfigApplied",
                                   "runs mig from kgpu-configs (label kgpu.dev/config=mig)"}));
}

TEST(ReportTest, AConditionOfAProblemNamesItAndWhatRunsOn) {
  Report report = Applied();
  report.state = State::kInvalid;
  report.problem = "/etc/kgpu/configs/mig.yaml:3:1: pool: unknown key\nsecond\nthird";
  auto condition = ConditionOf(report);
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->status, "False");
  EXPECT_EQ(condition->reason, "ConfigInvalid");
  EXPECT_EQ(condition->message,
            "runs mig from kgpu-configs (label kgpu.dev/config=mig); "
            "/etc/kgpu/configs/mig.yaml:3:1: pool: unknown key; and 2 more: kgpu config show");
  report.state = State::kUnknown;
  report.is_running = false;
  report.problem = std::string(5'000, 'x');
  condition = ConditionOf(report);
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->reason, "ConfigUnknown");
  EXPECT_THAT(condition->message, HasSubstr("runs none; xxx"));
  EXPECT_LT(condition->message.size(), 1'000U);
}

TEST(ReportTest, ARowReadsTheConditionAgain) {
  EXPECT_EQ(RowOf("n1", ConditionOf(Applied())),
            (NodeRow{"n1", "mig from kgpu-configs", "label kgpu.dev/config=mig", "applied", ""}));
  Report report = Applied();
  report.state = State::kUnknown;
  report.problem = "label kgpu.dev/config=x: no configuration \"x\"; (sorry)";
  EXPECT_EQ(RowOf("n1", ConditionOf(report)),
            (NodeRow{"n1", "mig from kgpu-configs", "label kgpu.dev/config=mig", "unknown",
                     report.problem}));
  report.is_running = false;
  EXPECT_EQ(RowOf("n1", ConditionOf(report)),
            (NodeRow{"n1", "none", "", "unknown", report.problem}));
  report = {.state = State::kInvalid,
            .is_running = true,
            .file = "/etc/kgpu/config.yaml",
            .why = "default",
            .problem = "p"};
  EXPECT_EQ(RowOf("n1", ConditionOf(report)),
            (NodeRow{"n1", "/etc/kgpu/config.yaml", "default", "invalid", "p"}));
}

TEST(ReportTest, ARowSurvivesAConditionOfSomebodyElse) {
  for (const char* message : {"", "runs ", "runs x (", "runs (", "hello", "runs ; ", "runs x; "}) {
    EXPECT_EQ(RowOf("n1", Condition{"False", "Other", message}).state, "Other") << message;
  }
  EXPECT_EQ(RowOf("n1", Condition{"False", "Other", "hello"}).problem, "hello");
}

TEST(ReportTest, ANodeWithoutAConditionRunsTheDefault) {
  EXPECT_EQ(RowOf("n1", std::nullopt), (NodeRow{"n1", "default", "default", "applied", ""}));
}

TEST(ReportTest, PrintsRows) {
  const std::vector<NodeRow> rows = {RowOf("n1", ConditionOf(Applied())), RowOf("n2", {})};
  EXPECT_THAT(RowsTable(rows), AllOf(HasSubstr("NODE  CONFIG"), HasSubstr("mig from kgpu-configs"),
                                     HasSubstr("n2    default")));
  EXPECT_EQ(RowsJson(rows).at("nodes").at(1).at("node").as_string(), "n2");
}

TEST(ReportTest, PrintsWhatANodeRuns) {
  Report report = Applied();
  EXPECT_THAT(ReportTable(report),
              AllOf(HasSubstr("runs       mig from kgpu-configs\n"),
                    HasSubstr("state      applied\n"), Not(HasSubstr("problem"))));
  report.state = State::kInvalid;
  report.problem = "a\nb";
  report.notes = {"n"};
  EXPECT_THAT(ReportTable(report),
              AllOf(HasSubstr("problem    a\nproblem    b\n"), HasSubstr("note       n\n")));
  EXPECT_EQ(ReportJson(report).at("state").as_string(), "invalid");
}

}  // namespace
}  // namespace kgpu::choice
