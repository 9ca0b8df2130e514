#include "src/gpu/health/journal_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kgpu::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kBoot[] = "b-2";

WallTime At(int second) {
  return WallTime(std::chrono::seconds(1'700'000'000 + second));
}

JournalEntry BootEntry(const std::string& boot_id) {
  return {.when = At(0), .event = {}, .boot_id = boot_id};
}

JournalEntry Events(HealthEventKind kind, const std::string& rule, int second, char gpu = '1') {
  HealthEvent event{.kind = kind, .when = At(second), .rule = rule, .is_unhealthy = true};
  event.gpu =
      *device::GpuUuid::Parse(std::string("GPU-0000000") + gpu + "-0000-0000-0000-000000000000");
  return EntryOf(event);
}

std::vector<std::string> Rules(const std::vector<OpenFault>& faults) {
  std::vector<std::string> rules;
  rules.reserve(faults.size());
  for (const OpenFault& fault : faults) {
    rules.push_back(fault.rule + (fault.is_held ? " held" : ""));
  }
  return rules;
}

TEST(FaultsAfterTest, WhatWasRaisedAndNotClearedStands) {
  const std::vector<JournalEntry> journal = {
      BootEntry(kBoot), Events(HealthEventKind::kRaised, "Xid79", 1),
      Events(HealthEventKind::kRaised, "Xid48", 2), Events(HealthEventKind::kCleared, "Xid48", 3),
      Events(HealthEventKind::kSeen, "Xid79", 4)};
  const auto faults = FaultsAfter({}, journal, kBoot, {});
  EXPECT_THAT(Rules(faults), ElementsAre("Xid79"));
  EXPECT_EQ(faults[0].first, At(1));
  EXPECT_EQ(faults[0].last, At(4));
  EXPECT_EQ(faults[0].count, 2U);
}

TEST(FaultsAfterTest, OneGpuIsNotAnother) {
  const std::vector<JournalEntry> journal = {BootEntry(kBoot),
                                             Events(HealthEventKind::kRaised, "Xid79", 1, '1'),
                                             Events(HealthEventKind::kRaised, "Xid79", 2, '2'),
                                             Events(HealthEventKind::kCleared, "Xid79", 3, '1')};
  const auto faults = FaultsAfter({}, journal, kBoot, {});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].scope.gpu.str(), "GPU-00000002-0000-0000-0000-000000000000");
}

TEST(FaultsAfterTest, WhatIsHeldStaysHeld) {
  const std::vector<JournalEntry> journal = {
      BootEntry(kBoot), Events(HealthEventKind::kRaised, "Xid79", 1),
      Events(HealthEventKind::kHeld, "Xid79", 1), Events(HealthEventKind::kRaised, "Xid79", 9)};
  EXPECT_THAT(Rules(FaultsAfter({}, journal, kBoot, {})), ElementsAre("Xid79 held"));
}

TEST(FaultsAfterTest, FaultsOfAnotherBootAreOver) {
  std::vector<JournalEntry> journal = {
      BootEntry("b-1"), Events(HealthEventKind::kRaised, "Xid79", 1), BootEntry(kBoot)};
  EXPECT_THAT(FaultsAfter({}, journal, kBoot, {}), IsEmpty());
  journal.pop_back();  // this boot could not be noted
  EXPECT_THAT(FaultsAfter({}, journal, kBoot, {}), IsEmpty());
  EXPECT_THAT(FaultsAfter({}, journal, "", {}), IsEmpty());
}

TEST(FaultsAfterTest, WhatTheMemoryKnowsIsTakenFromThere) {
  const std::vector<JournalEntry> journal = {
      BootEntry(kBoot), Events(HealthEventKind::kRaised, "Xid48", 1),
      Events(HealthEventKind::kRaised, "Xid79", 2), Events(HealthEventKind::kCleared, "Xid79", 12)};
  const auto known = FaultsAfter({}, std::span(journal).first(3), kBoot, At(1));
  EXPECT_THAT(Rules(known), ElementsAre("Xid79"));
  EXPECT_THAT(Rules(FaultsAfter(known, journal, kBoot, At(10))), IsEmpty());
  EXPECT_THAT(Rules(FaultsAfter(known, journal, kBoot, At(13))), ElementsAre("Xid79"));
}

// The end of a fault that the memory has no more came before it.
TEST(FaultsAfterTest, AFaultFromBeforeTheClockWasSetBackStaysOver) {
  const std::vector<JournalEntry> journal = {BootEntry(kBoot),
                                             Events(HealthEventKind::kRaised, "Xid79", 3600),
                                             Events(HealthEventKind::kCleared, "Xid79", 10),
                                             Events(HealthEventKind::kRaised, "Xid48", 30)};
  EXPECT_THAT(Rules(FaultsAfter({}, journal, kBoot, At(20))), ElementsAre("Xid48"));
}

TEST(FaultsAfterTest, WarningsAndEventsOfNoGpuAreLeftOut) {
  JournalEntry warning = Events(HealthEventKind::kRaised, "RowRemapPending", 1);
  warning.event->is_unhealthy = false;
  JournalEntry nobody = Events(HealthEventKind::kRaised, "Xid79", 1);
  nobody.event->gpu.reset();
  EXPECT_THAT(
      FaultsAfter({}, std::vector<JournalEntry>{BootEntry(kBoot), warning, nobody}, kBoot, {}),
      IsEmpty());
}

}  // namespace
}  // namespace kgpu::health
