#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "src/gpu/health/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/node/config/health_switches.h"
#include "src/node/config/node_config.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using health::Action;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StatusOr<NodeConfig> Parse(const std::string& health) {
  return ParseNodeConfig("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nhealth:\n" + health, "c.yaml");
}

TEST(HealthConfigTest, HasDefaultsOfItsOwn) {
  const HealthConfig health = DefaultNodeConfig().health;
  EXPECT_EQ(health.hold_down, seconds(60));
  EXPECT_EQ(health.flap_limit.times, 3U);
  EXPECT_EQ(health.flap_limit.within, minutes(60));
  EXPECT_EQ(health.every, seconds(30));
  EXPECT_TRUE(health.kernel_log);
}

TEST(HealthConfigTest, EveryFieldIsReadAndPrintedBack) {
  const auto config = Parse(R"(  holdDown: 5m
  flapLimit: {times: 5, within: 2h}
  kernelLog: false
  every: 10s
  rules:
    Xid94: ignore
    Xid13: drain
    Xid31: {unhealthy: true}
    ThermalSlowdown: {action: drain, unhealthy: true, lasts: 5m}
    PcieReplays: {limit: 8}
    "Xid*": {unhealthy: false}
)");
  ASSERT_OK(config);
  HealthConfig wanted{.hold_down = minutes(5),
                      .flap_limit = {.times = 5, .within = std::chrono::hours(2)},
                      .kernel_log = false,
                      .every = seconds(10)};
  wanted.rules["Xid94"] = {.action = Action::kIgnore, .is_unhealthy = false};
  wanted.rules["Xid13"] = {.action = Action::kDrain, .is_unhealthy = true};
  wanted.rules["Xid31"] = {.is_unhealthy = true};
  wanted.rules["ThermalSlowdown"] = {
      .action = Action::kDrain, .is_unhealthy = true, .lasts = minutes(5)};
  wanted.rules["PcieReplays"] = {.limit = 8};
  wanted.rules["Xid*"] = {.is_unhealthy = false};
  EXPECT_EQ(config->health, wanted);
  const auto again = ParseNodeConfig(PrintNodeConfig(*config), "again.yaml");
  ASSERT_OK(again);
  EXPECT_EQ(again->health, wanted);
}

TEST(HealthConfigTest, EveryRuleCanBeChanged) {
  for (const health::Rule& rule : health::AllRules()) {
    const auto config = Parse("  rules:\n    " + NameOf(rule) + ": ignore\n");
    ASSERT_OK(config);
    const health::Rule judged = health::Judge(config->health, rule);
    EXPECT_FALSE(judged.is_unhealthy) << NameOf(rule);
    EXPECT_EQ(judged.action, Action::kIgnore) << NameOf(rule);
  }
}

struct Wrong {
  const char* text;
  const char* error;
};

TEST(HealthConfigTest, ZeroNeedsNoUnitAndNoQuotes) {
  for (const char* text : {"  holdDown: 0\n", "  holdDown: \"0\"\n"}) {
    const auto config = Parse(text);
    ASSERT_OK(config);
    EXPECT_EQ(config->health.hold_down, std::chrono::milliseconds(0)) << text;
  }
}

TEST(HealthConfigTest, SaysWhatIsWrong) {
  const Wrong cases[] = {
      {"  holdDwn: 5m\n", "c.yaml:4:3: health.holdDwn: unknown key, did you mean \"holdDown\"?"},
      {"  every: 10ms\n", "health.every: \"10ms\" is too short: the minimum is 1s"},
      {"  flapLimit: {times: many}\n", "health.flapLimit.times"},
      {"  rules: {Xid0: ignore}\n", "health.rules.Xid0: unknown rule"},
      {"  rules: {RowRemapFail: ignore}\n", "did you mean \"RowRemapFailed\"?"},
      {"  rules: {Xid79: reset}\n", "health.rules.Xid79: "},
      {"  rules: {Xid79: {lasts: 5s}}\n", "the rule has no duration"},
      {"  rules: {GpuLost: {limit: 5}}\n", "the rule has no limit"},
      {"  rules: {\"*\": {lasts: 5s}}\n", "the rule has no duration"},
      {"  rules: {Xid79: {}}\n", "is empty: set what to change"},
      {"  rules: {Xid79: {acton: drain}}\n", "did you mean \"action\"?"},
  };
  for (const Wrong& wrong : cases) {
    EXPECT_THAT(Parse(wrong.text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(wrong.error)))
        << wrong.text;
  }
}

HealthConfig Apply(const std::vector<std::string>& environment) {
  HealthConfig health;
  ApplyHealthSwitches(environment, health);
  return health;
}
bool Counts(const HealthConfig& health, uint64_t xid) {
  return health::Judge(health, health::RuleOfXid(xid)).is_unhealthy;
}
bool Counts(const HealthConfig& health, const char* rule) {
  return health::Judge(health, *health::FindNamedRule(rule)).is_unhealthy;
}

TEST(HealthSwitchesTest, WithoutAnyNothingChanges) {
  EXPECT_EQ(Apply({}), HealthConfig());
  EXPECT_EQ(Apply({"PATH=/bin", "XID_CONFIG=", "DP_DISABLE_HEALTHCHECKS="}), HealthConfig());
}

TEST(HealthSwitchesTest, NvidiasListDisablesXids) {
  const HealthConfig health = Apply({"DP_DISABLE_HEALTHCHECKS=79, 48"});
  EXPECT_FALSE(Counts(health, 79));
  EXPECT_FALSE(Counts(health, 48));
  EXPECT_TRUE(Counts(health, 95));
}

TEST(HealthSwitchesTest, NvidiasWordsDisableAllXidsOrAll) {
  const HealthConfig xids = Apply({"DP_DISABLE_HEALTHCHECKS=xids"});
  EXPECT_FALSE(Counts(xids, 79));
  EXPECT_TRUE(Counts(xids, "RowRemapFailed"));
  const HealthConfig all = Apply({"DP_DISABLE_HEALTHCHECKS=ALL"});
  EXPECT_FALSE(Counts(all, 79));
  EXPECT_FALSE(Counts(all, "RowRemapFailed"));
  EXPECT_TRUE(Counts(all, "GpuLost"));
}

TEST(HealthSwitchesTest, WhatIsEnabledWins) {
  const HealthConfig one = Apply({"DP_ENABLE_HEALTHCHECKS=13,79", "DP_DISABLE_HEALTHCHECKS=all"});
  EXPECT_TRUE(Counts(one, 13));
  EXPECT_TRUE(Counts(one, 79));
  EXPECT_FALSE(Counts(one, 48));
  const HealthConfig all = Apply({"DP_ENABLE_HEALTHCHECKS=all"});
  EXPECT_TRUE(Counts(all, 13));
}

TEST(HealthSwitchesTest, AllThatIsEnabledWinsOverSingleXidsAndEveryOtherList) {
  const HealthConfig xids = Apply({"DP_DISABLE_HEALTHCHECKS=31,79", "DP_ENABLE_HEALTHCHECKS=all"});
  EXPECT_TRUE(Counts(xids, 31));
  EXPECT_TRUE(Counts(xids, 79));
  const HealthConfig all =
      Apply({"DP_DISABLE_HEALTHCHECKS=all", "DP_ENABLE_HEALTHCHECKS=All", "XID_CONFIG=32"});
  EXPECT_TRUE(Counts(all, 79));
  EXPECT_TRUE(Counts(all, "RowRemapFailed"));
}

TEST(HealthSwitchesTest, WordsForAllReachTheEntriesOfTheFile) {
  HealthConfig health;
  health.rules["Xid79"] = {.action = Action::kDrain, .is_unhealthy = true};
  health.rules["RowRemapPending"] = {.is_unhealthy = true};
  health.rules["GpuLost"] = {.action = Action::kReboot, .is_unhealthy = true};
  HealthConfig all = health;
  ApplyHealthSwitches(std::vector<std::string>{"DP_DISABLE_HEALTHCHECKS=xids"}, health);
  EXPECT_FALSE(Counts(health, 79));
  EXPECT_TRUE(Counts(health, "RowRemapPending"));
  ApplyHealthSwitches(std::vector<std::string>{"DP_DISABLE_HEALTHCHECKS=all"}, all);
  EXPECT_FALSE(Counts(all, 79));
  EXPECT_FALSE(Counts(all, "RowRemapPending"));
  EXPECT_TRUE(Counts(all, "GpuLost"));
}

TEST(HealthSwitchesTest, GkesListReplacesTheTableButFor48) {
  const HealthConfig health = Apply({"XID_CONFIG=32,79,74"});
  EXPECT_TRUE(Counts(health, 32));
  EXPECT_TRUE(Counts(health, 48));
  EXPECT_FALSE(Counts(health, 95));
}

TEST(HealthSwitchesTest, WordsThatAreNoneAreNotedAndPassedOver) {
  HealthConfig health;
  const std::vector<std::string> environment = {"DP_DISABLE_HEALTHCHECKS=79,seventy,,-1"};
  const auto notes = ApplyHealthSwitches(environment, health);
  EXPECT_THAT(notes, Contains(HasSubstr("\"seventy\" is not an XID")));
  EXPECT_THAT(notes, Contains(HasSubstr("\"-1\" is not an XID")));
  EXPECT_THAT(notes, Contains(HasSubstr(": these do not make a device unhealthy")));
  EXPECT_FALSE(Counts(health, 79));
}

TEST(HealthSwitchesTest, TheRestOfAnEntryStays) {
  HealthConfig health;
  health.rules["Xid79"] = {.action = Action::kDrain, .is_unhealthy = true};
  ApplyHealthSwitches(std::vector<std::string>{"DP_DISABLE_HEALTHCHECKS=79"}, health);
  EXPECT_EQ(health.rules["Xid79"].action, Action::kDrain);
  EXPECT_EQ(health.rules["Xid79"].is_unhealthy, false);
}

}  // namespace
}  // namespace kgpu::config
