#include "src/node/report/rules_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "src/gpu/health/rule_table.h"

namespace kgpu::report {
namespace {

using ::testing::HasSubstr;

TEST(RulesViewTest, TheDocumentationIsTheTable) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/reference/health.md");
  const std::string docs((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(docs, HasSubstr(RulesMarkdown({})))
      << "docs/reference/health.md must hold what `kgpu health rules --output markdown` prints";
}

TEST(RulesViewTest, XidsThatSayTheSameStandTogether) {
  EXPECT_THAT(RulesTable({}), HasSubstr("\nXid99 to Xid105 "));
  EXPECT_THAT(RulesTable({}), HasSubstr("\nXid79 "));
}

TEST(RulesViewTest, ShowsWhatTheConfigurationMakesOfARule) {
  health::Settings settings;
  settings.rules["Xid100"] = {.action = health::Action::kDrain, .is_unhealthy = true};
  settings.rules["PcieReplays"] = {.limit = 7};
  EXPECT_THAT(RulesMarkdown(settings), HasSubstr("| Xid100 | application | unhealthy | drain |"));
  EXPECT_THAT(RulesMarkdown(settings), HasSubstr("| Xid101 to Xid105 |"));
  EXPECT_THAT(RulesMarkdown(settings), HasSubstr("| 7 replays per minute |"));
}

TEST(RulesViewTest, ProgramsGetEveryRule) {
  const boost::json::value tree = RulesJson({});
  EXPECT_EQ(tree.at("rules").as_array().size(), health::AllRules().size());
  const boost::json::object& first = tree.at("rules").as_array().front().as_object();
  EXPECT_EQ(first.at("rule").as_string(), "Xid1");
  EXPECT_EQ(first.at("xid").to_number<int>(), 1);
}

}  // namespace
}  // namespace kgpu::report
