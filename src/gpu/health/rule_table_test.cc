#include "src/gpu/health/rule_table.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "src/gpu/health/judge.h"

namespace kgpu::health {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using enum Action;
using enum FaultClass;

// Which codes speak against the GPU, and what fixes each: the promise to an admin, apart from the
// table that keeps it.
struct Group {
  Action action;
  bool is_unhealthy;
  std::set<uint64_t> xids;
};
const std::vector<Group>& Groups() {
  static const std::vector<Group> kGroups = {
      {kIgnore, false, {14,  16,  19,  37,  38,  56,  66,  67,  78,  81,  87,  93,  106,
                        107, 111, 112, 113, 114, 115, 116, 117, 118, 154, 162, 163, 170}},
      {kRestartApp, false, {1,   2,   3,   4,   6,   7,   8,   9,   11,  12,  13,  20,  21,  22,
                            24,  25,  27,  28,  29,  30,  31,  32,  34,  35,  36,  39,  40,  41,
                            42,  43,  44,  45,  47,  60,  65,  68,  69,  70,  71,  72,  73,  75,
                            76,  77,  80,  82,  83,  84,  85,  86,  88,  89,  96,  97,  98,  99,
                            100, 101, 102, 103, 104, 105, 108, 109, 126, 127, 128, 129, 130, 131,
                            132, 133, 134, 135, 137, 138, 139, 141, 142, 152, 153, 159}},
      {kDrain, true, {94}},
      {kResetGpu, false, {63, 144, 145, 146, 147, 148, 149, 150}},
      {kResetGpu, true, {5,   10,  15,  17,  23,  26,  33,  46,  48,  49,  50,  51,
                         55,  59,  61,  62,  64,  74,  90,  91,  95,  110, 119, 120,
                         136, 140, 143, 155, 156, 158, 166, 169, 171, 172}},
      {kReboot, true, {18, 57, 79, 122, 123, 124, 151, 167}},
      {kInspect, false, {52, 53, 92, 121, 125, 157, 160, 161, 164, 165, 168}},
      {kInspect, true, {54, 58}},
  };
  return kGroups;
}

TEST(XidTableTest, EveryCodeHasItsActionAndItsVerdict) {
  std::set<uint64_t> seen;
  for (const Group& group : Groups()) {
    for (const uint64_t xid : group.xids) {
      EXPECT_TRUE(seen.insert(xid).second) << xid;
      const Rule rule = RuleOfXid(xid);
      EXPECT_EQ(ToString(rule.action), ToString(group.action)) << xid;
      EXPECT_EQ(rule.is_unhealthy, group.is_unhealthy) << xid;
      EXPECT_FALSE(rule.is_standing) << xid;
    }
  }
  for (uint64_t xid = 1; xid <= 172; ++xid) {
    EXPECT_TRUE(seen.contains(xid)) << xid;
  }
}

TEST(XidTableTest, EveryCodeSaysWhatHappenedAndWhatFixesIt) {
  for (const Rule& rule : AllRules()) {
    const std::string name = NameOf(rule);
    EXPECT_THAT(rule.text, HasSubstr(": ")) << name;
    EXPECT_LE(rule.text.size(), 120U) << name;
    EXPECT_FALSE(rule.text.ends_with('.')) << name;
    EXPECT_THAT(MessageOf(rule), EndsWith("."));
    if (rule.xid) {
      EXPECT_THAT(MessageOf(rule), StartsWith("XID " + std::to_string(*rule.xid) + ": "));
    }
  }
}

TEST(XidTableTest, ClassesFollowTheFault) {
  const std::map<uint64_t, FaultClass> classes = {
      {13, kApplication}, {48, kMemory}, {74, kNvLink},      {79, kBus},     {119, kFirmware},
      {94, kMemory},      {54, kPower},  {18, kPcie},        {52, kThermal}, {143, kDriver},
      {63, kMemory},      {95, kMemory}, {109, kApplication}};
  for (const auto& [xid, fault_class] : classes) {
    EXPECT_EQ(ToString(RuleOfXid(xid).fault_class), ToString(fault_class)) << xid;
  }
}

TEST(XidTableTest, ACodeThatIsNotKnownIsAFault) {
  for (const uint64_t xid : {uint64_t{0}, uint64_t{173}, uint64_t{9999}, ~uint64_t{0}}) {
    const Rule rule = RuleOfXid(xid);
    EXPECT_TRUE(rule.is_unhealthy);
    EXPECT_EQ(rule.xid, xid);
    EXPECT_THAT(MessageOf(rule), HasSubstr("dmesg"));
  }
}

TEST(RuleTableTest, FindsEveryRuleByItsName) {
  for (const Rule& rule : AllRules()) {
    const auto found = FindRule(NameOf(rule));
    ASSERT_TRUE(found.has_value()) << NameOf(rule);
    EXPECT_EQ(NameOf(*found), NameOf(rule));
    EXPECT_EQ(found->text, rule.text);
  }
  EXPECT_TRUE(FindRule("Xid9999").has_value());
  for (const char* name : {"", "Xid", "Xid0", "Xid079", "Xid-1", "Xid79x", "xid79", "Xid*",
                           "gpulost", "Xid99999999999"}) {
    EXPECT_FALSE(FindRule(name).has_value()) << name;
  }
}

TEST(RuleTableTest, WhatIsMeasuredAgainstALimitSaysInWhatUnit) {
  for (const Rule& rule : AllRules()) {
    EXPECT_EQ(rule.limit.has_value(), !rule.limit_unit.empty()) << NameOf(rule);
  }
}

Settings With(const std::string& name, RuleSetting setting) {
  Settings settings;
  settings.rules[name] = setting;
  return settings;
}

TEST(JudgeTest, WithoutSettingsTheTableDecides) {
  EXPECT_TRUE(Judge({}, RuleOfXid(48)).is_unhealthy);
  EXPECT_FALSE(Judge({}, RuleOfXid(13)).is_unhealthy);
}

TEST(JudgeTest, AnEntryOfItsOwnChangesARule) {
  const Settings settings = With("Xid13", {.action = kDrain, .is_unhealthy = true});
  EXPECT_TRUE(Judge(settings, RuleOfXid(13)).is_unhealthy);
  EXPECT_EQ(Judge(settings, RuleOfXid(13)).action, kDrain);
  EXPECT_FALSE(Judge(settings, RuleOfXid(31)).is_unhealthy);
}

TEST(JudgeTest, ThresholdsAreChangedAlone) {
  const Settings settings = With("PcieReplays", {.limit = 7});
  const Rule rule = Judge(settings, *FindNamedRule("PcieReplays"));
  EXPECT_EQ(rule.limit, 7U);
  EXPECT_EQ(rule.action, kInspect);
  EXPECT_FALSE(rule.is_unhealthy);
}

TEST(JudgeTest, AStarForXidsReachesThoseWithoutAnEntry) {
  Settings settings = With("Xid*", {.is_unhealthy = false});
  settings.rules["Xid48"] = {.is_unhealthy = true};
  EXPECT_FALSE(Judge(settings, RuleOfXid(79)).is_unhealthy);
  EXPECT_TRUE(Judge(settings, RuleOfXid(48)).is_unhealthy);
  EXPECT_TRUE(Judge(settings, *FindNamedRule("RowRemapFailed")).is_unhealthy);
}

TEST(JudgeTest, AStarDoesNotReachDevicesThatDoNotAnswer) {
  Settings settings = With("*", {.is_unhealthy = false});
  EXPECT_FALSE(Judge(settings, RuleOfXid(79)).is_unhealthy);
  EXPECT_FALSE(Judge(settings, *FindNamedRule("RowRemapFailed")).is_unhealthy);
  EXPECT_TRUE(Judge(settings, *FindNamedRule("GpuLost")).is_unhealthy);
  settings.rules["GpuLost"] = {.is_unhealthy = false};
  EXPECT_FALSE(Judge(settings, *FindNamedRule("GpuLost")).is_unhealthy);
}

}  // namespace
}  // namespace kgpu::health
