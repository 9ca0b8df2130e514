#include "src/setup/bringup/bringup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/container/engine/test_engine_host.h"
#include "src/host/change/test_mortal_disk.h"
#include "src/setup/bringup/record.h"
#include "src/setup/bringup/test_stage.h"
#include "testing/status_matchers.h"

namespace kgpu::bringup {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kResumeUnit[] = "/etc/systemd/system/kgpu-node-up.service";

class BringupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* id : {"host", "driver", "agent"}) {
      auto stage = std::make_unique<FakeStage>(id, calls_);
      by_id_[id] = stage.get();
      stages_.push_back(std::move(stage));
    }
    Get("host").leaves_traces = false;
    Get("host").look = {Condition::kReady, ""};
  }
  FakeStage& Get(const std::string& id) { return *by_id_.at(id); }
  Host TheHost() { return {host_.root(), disk_}; }
  std::vector<std::string> Steps(const StatusOr<Report>& report) {
    std::vector<std::string> steps;
    if (report.ok()) {
      for (const StageReport& stage : report->stages) {
        steps.push_back(fmt::format("{} {}", stage.id, ToString(stage.step)));
      }
    }
    return steps;
  }

  engine::EngineHost host_;
  change::HostDisk disk_{host_.root()};
  std::vector<std::string> calls_;
  std::map<std::string, FakeStage*> by_id_;
  Stages stages_;
  Options options_{.resume = {"/opt/kgpu", "node", "up"}};
};

TEST_F(BringupTest, DoesWhatIsNeededInOrder) {
  Get("driver").look = {Condition::kReady, ""};
  const auto report = Up(stages_, TheHost(), options_);
  EXPECT_THAT(Steps(report), ElementsAre("host ready", "driver ready", "agent done"));
  EXPECT_THAT(calls_, ElementsAre("do agent"));
  EXPECT_THAT(ReadRecord(host_.root()), IsOkAndHolds(Record{{"agent"}, {}}));
}

TEST_F(BringupTest, StopsAtWhatFailsAndGoesOnFromThere) {
  Get("driver").outcome = Unavailable("no network");
  const auto failed = Up(stages_, TheHost(), options_);
  EXPECT_THAT(Steps(failed), ElementsAre("host ready", "driver failed", "agent not reached"));
  ASSERT_OK(failed);
  EXPECT_EQ(failed->stages[1].text, "no network");
  Get("driver").outcome = Outcome{};
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver done", "agent done"));
}

TEST_F(BringupTest, WhatIsBlockedIsNotTouched) {
  Get("host").look = {Condition::kBlocked, "no GPU"};
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host failed", "driver not reached", "agent not reached"));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BringupTest, AUnitGoesOnAfterARebootAndIsGoneThen) {
  Get("driver").outcome = Outcome{Ending::kWaits, "reboot"};
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver waits", "agent not reached"));
  const auto unit = host_.root().ReadFile(kResumeUnit);
  ASSERT_OK(unit);
  EXPECT_THAT(*unit, HasSubstr(R"(ExecStart="/opt/kgpu" "node" "up")"));
  EXPECT_TRUE(
      host_.root().Exists("etc/systemd/system/multi-user.target.wants/kgpu-node-up.service"));
  Get("driver").look = {Condition::kReady, ""};
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver ready", "agent done"));
  EXPECT_FALSE(host_.root().Exists(kResumeUnit));
}

TEST_F(BringupTest, WithoutAUnitAPersonIsAskedToGoOn) {
  Get("driver").outcome = Outcome{Ending::kWaits, "reboot"};
  options_.resume.clear();
  const auto report = Up(stages_, TheHost(), options_);
  ASSERT_OK(report);
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("run kgpu node up again")));
  EXPECT_FALSE(host_.root().Exists(kResumeUnit));
}

TEST_F(BringupTest, AUnitThatCannotBeWrittenTakesNothingFromTheReport) {
  Get("driver").outcome = Outcome{Ending::kWaits, "reboot"};
  host_.folder().WriteFile("etc/systemd", "no folder");
  const auto report = Up(stages_, TheHost(), options_);
  EXPECT_THAT(Steps(report), ElementsAre("host ready", "driver waits", "agent not reached"));
  ASSERT_OK(report);
  EXPECT_THAT(report->notes, Contains(HasSubstr("run kgpu node up again")));
}

TEST_F(BringupTest, WordsOfTheUnitAreQuoted) {
  Get("driver").outcome = Outcome{Ending::kWaits, "reboot"};
  options_.resume = {"/opt/kgpu", "--source", R"(/a b%$"\)"};
  ASSERT_OK(Up(stages_, TheHost(), options_));
  EXPECT_THAT(host_.root().ReadFile(kResumeUnit).value_or(""),
              HasSubstr(R"(ExecStart="/opt/kgpu" "--source" "/a b%%$$\"\\")"));
}

TEST_F(BringupTest, ADryRunTellsEachStageAndWritesNothing) {
  Get("driver").look = {Condition::kBlocked, "no source fits"};
  options_.is_dry_run = true;
  const auto report = Up(stages_, TheHost(), options_);
  EXPECT_THAT(Steps(report), ElementsAre("host ready", "driver failed", "agent would do"));
  ASSERT_OK(report);
  EXPECT_EQ(report->stages[2].preview, "would do agent\n");
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_FALSE(host_.root().Exists("var/lib/kgpu"));
}

TEST_F(BringupTest, SkippedStagesAreLeftAlone) {
  options_.skipped = {"driver"};
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver skipped", "agent done"));
  EXPECT_THAT(calls_, ElementsAre("do agent"));
}

TEST_F(BringupTest, DownUndoesWhatUpBeganTheLastFirst) {
  ASSERT_OK(Up(stages_, TheHost(), options_));
  calls_.clear();
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done", "driver done"));
  EXPECT_THAT(calls_, ElementsAre("undo agent", "undo driver"));
  EXPECT_FALSE(host_.root().Exists(kRecordFile));
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), IsEmpty());
}

TEST_F(BringupTest, DownGoesOnFromWhatFailed) {
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").outcome = Unavailable("in use");
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)),
              ElementsAre("agent done", "driver failed"));
  Get("driver").outcome = Outcome{};
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("driver done"));
}

TEST_F(BringupTest, WhatWasThereBeforeIsNotTakenDown) {
  Get("driver").look = {Condition::kReady, ""};
  ASSERT_OK(Up(stages_, TheHost(), options_));
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done"));
}

TEST_F(BringupTest, WhatDidNothingIsNotTakenDown) {
  Get("driver").is_quick_to_fail = true;
  Get("driver").outcome = FailedPrecondition("another driver is here");
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver failed", "agent not reached"));
  EXPECT_THAT(ReadRecord(host_.root()), IsOkAndHolds(Record{}));
  Get("driver").has_traces = true;  // somebody installs one by hand
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), IsEmpty());
}

TEST_F(BringupTest, WhatFailedHalfWayIsTakenDown) {
  Get("driver").outcome = FailedPrecondition("it could not be taken back");
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").outcome = Outcome{};
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("driver done"));
}

TEST_F(BringupTest, WhatWasBegunByHandIsGoneOnWithAndNotTakenDown) {
  Get("driver").has_traces = true;
  const auto report = Up(stages_, TheHost(), options_);
  EXPECT_THAT(Steps(report), ElementsAre("host ready", "driver done", "agent done"));
  ASSERT_OK(report);
  EXPECT_EQ(report->stages[1].text, "started manually before: kgpu node down keeps it");
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done"));
}

TEST_F(BringupTest, WhatAPersonPutToTheEndIsNotReplaced) {
  Get("driver").look.text = "it is not 535";
  Get("driver").level = "535";
  Get("driver").Put("580");
  for (const bool is_dry_run : {true, false}) {
    options_.is_dry_run = is_dry_run;
    const auto report = Up(stages_, TheHost(), options_);
    ASSERT_OK(report);
    EXPECT_EQ(report->stages[1].step, Step::kFailed);
    EXPECT_EQ(report->stages[1].text,
              "driver 580 was installed manually, and node up replaces only what it installed "
              "itself: it is not 535; kgpu driver install");
  }
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), IsEmpty());
}

TEST_F(BringupTest, WhatUpPutIsReplacedAndTakenDown) {
  Get("driver").level = "535";
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").level = "580";
  EXPECT_THAT(Steps(Up(stages_, TheHost(), options_)),
              ElementsAre("host ready", "driver done", "agent done"));
  EXPECT_THAT(Get("driver").levels.names, ElementsAre("580"));
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done", "driver done"));
  EXPECT_FALSE(host_.root().Exists(kRecordFile));
}

// The second driver that `up` was asked for was refused, so that a person put one.
TEST_F(BringupTest, AFailureLeavesItKnownWhatIsWhose) {
  Get("driver").level = "535";
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").outcome = FailedPrecondition("no room");
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").outcome = Outcome{};
  Get("driver").Put("580");
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done", "driver ready"));
}

TEST_F(BringupTest, WhatIsInThePlaceOfWhatIsGoneStays) {
  Get("driver").level = "535";
  ASSERT_OK(Up(stages_, TheHost(), options_));
  Get("driver").levels = {};
  Get("driver").Put("580");
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("agent done", "driver ready"));
  EXPECT_THAT(calls_, Not(Contains("undo driver")));
  EXPECT_FALSE(host_.root().Exists(kRecordFile));
}

// Of a record of before levels were distinguished, or of a run that was killed at it.
TEST_F(BringupTest, WithoutAWordOnWhoseItIsAllIsTakenDown) {
  Get("driver").Put("535");
  ASSERT_OK(LockRecord(host_.root(), disk_).status());
  ASSERT_OK(WriteRecord(disk_, {{"driver"}}));
  EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)), ElementsAre("driver done"));
}

TEST_F(BringupTest, StagesRememberFromTheFirstCallToTheLast) {
  Get("driver").outcome = Outcome{Ending::kWaits, "reboot"};
  options_.skipped = {"host"};
  ASSERT_OK(Up(stages_, TheHost(), options_));
  EXPECT_EQ(Get("agent").begun, 1) << "before it is reached";
  EXPECT_EQ(Get("agent").ended, 0);
  EXPECT_EQ(Get("host").begun, 0) << "it is skipped";
  Get("driver").look = {Condition::kReady, ""};
  ASSERT_OK(Up(stages_, TheHost(), options_));
  EXPECT_EQ(Get("agent").ended, 1);
  options_.is_dry_run = true;
  ASSERT_OK(Up(stages_, TheHost(), options_));
  EXPECT_EQ(Get("agent").begun, 2);
  EXPECT_EQ(Get("agent").ended, 1);
}

TEST_F(BringupTest, KilledAtAnyWriteItGoesOn) {
  Get("driver").level = "535";
  for (int actions = 0;; ++actions) {
    SCOPED_TRACE(actions);
    change::Fate mortal_fate(change::Fate::End::kDead, actions);
    change::MortalDisk mortal(disk_, mortal_fate);
    const auto killed = Up(stages_, {host_.root(), mortal}, options_);
    const bool is_through = !mortal_fate.is_dead();
    calls_.clear();
    ASSERT_OK(Up(stages_, TheHost(), options_));
    EXPECT_THAT(Steps(Down(stages_, TheHost(), options_)),
                ElementsAre("agent done", "driver done"));
    if (is_through) {
      EXPECT_GT(actions, 1);
      break;
    }
  }
}

}  // namespace
}  // namespace kgpu::bringup
