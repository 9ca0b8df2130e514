#include "src/cli/node/node_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/journal.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

driver_install::Journal LevelJournal(const char* version, int64_t began) {
  driver_install::Journal journal;
  journal.phase = driver_install::Phase::kInstalled;
  journal.began = began;
  journal.plan.version = version;
  return journal;
}

class NodeLevelsTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const {
    dir_.WriteFile(std::string(driver_install::kJournalFile), text);
  }

  TempDir dir_;
  sys::Root host_ = sys::Root::Open(dir_.path()).value();
};

TEST_F(NodeLevelsTest, AHostWithoutADriverByKgpuHasNone) {
  const auto levels = DriverLevels(host_, "");
  ASSERT_OK(levels);
  EXPECT_THAT(levels->names, IsEmpty());
}

TEST_F(NodeLevelsTest, TheDriverThatIsHereCounts) {
  driver_install::Journal journal = LevelJournal("580", 1700000002);
  journal.former = {.plan = LevelJournal("535", 1700000001).plan, .began = 1700000001};
  Write(PrintJournal(journal));
  const auto levels = DriverLevels(host_, "kgpu driver install --branch 535");
  ASSERT_OK(levels);
  EXPECT_THAT(levels->names, ElementsAre("1700000002"));
  EXPECT_THAT(levels->top, HasSubstr("driver 580 with the"));
  EXPECT_TRUE(levels->is_whole);
  EXPECT_THAT(levels->by_hand,
              HasSubstr("kgpu driver install --branch 535 to install the requested driver"));
}

TEST_F(NodeLevelsTest, OneThatWaitsIsNotWhole) {
  driver_install::Journal journal = LevelJournal("580", 1700000002);
  journal.phase = driver_install::Phase::kInstalling;
  Write(PrintJournal(journal));
  const auto levels = DriverLevels(host_, "");
  ASSERT_OK(levels);
  EXPECT_FALSE(levels->is_whole);
}

TEST_F(NodeLevelsTest, AJournalThatIsBrokenIsNamed) {
  Write("{");
  EXPECT_THAT(DriverLevels(host_, ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("driver.json")));
}

}  // namespace
}  // namespace kgpu::cli
