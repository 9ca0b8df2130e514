#include "src/node/usage/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::usage {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGpu[] = "GPU-00000000-0000-0000-0000-000000000001";

// A pod that has one GPU all the time, and a disk that can be full or slow.
class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    pods_.devices = {{.resource = "nvidia.com/gpu",
                      .device_id = kGpu,
                      .user = {.pod_namespace = "ml", .pod = "a", .container = "main"}}};
    Restart();
  }
  // What was counted after the last write is lost, as when the process is killed.
  void Restart() {
    waiting_.clear();
    recorder_ = std::make_unique<Recorder>(
        dir_.At("usage"),
        Recorder::Disk{
            .write =
                [this](LedgerWrite write, std::function<void(const Status&)> done) {
                  if (is_slow_) {
                    waiting_.emplace_back(std::move(write), std::move(done));
                  } else if (takes_writes_) {
                    done(Write(write));
                  }
                  return takes_writes_;
                },
            .load =
                [this](const std::string& folder, std::function<void(StatusOr<Kept>)> done) {
                  if (is_slow_) {
                    loaded_ = [folder, done] { done(LoadLedger(folder)); };
                  } else {
                    done(is_broken_ ? Unavailable("input/output error") : LoadLedger(folder));
                  }
                  return true;
                }});
  }
  Status Write(const LedgerWrite& write) const {
    if (is_full_) {
      return ResourceExhausted("the disk is full");
    }
    Status status = write.Do();
    return fails_after_ && write.kind == LedgerWrite::Kind::kAll ? Unavailable("sync") : status;
  }
  void FinishWrites() {
    for (const auto& [write, done] : std::exchange(waiting_, {})) {
      done(write.Do());
    }
  }
  void Round(std::chrono::nanoseconds later) {
    samples_.begun += later;
    samples_.taken += std::chrono::duration_cast<WallTime::duration>(later);
    recorder_->Count(
        {.snapshot = snapshot_, .samples = samples_, .pods = pods_, .assignment = assignment_});
  }
  void Rounds(std::chrono::nanoseconds length) {
    for (std::chrono::nanoseconds at{0}; at < length; at += seconds(15)) {
      Round(seconds(15));
    }
  }
  double Counted() const {
    double sum = 0;
    recorder_->ledger().ForEach(
        [&sum](Hour, const PodName&, const Amounts& amounts) { sum += amounts.gpu_seconds; });
    return sum;
  }

  TempDir dir_;
  bool is_full_ = false;
  bool is_slow_ = false;
  bool is_broken_ = false;    // what is there cannot be read
  bool takes_writes_ = true;  // false: too many wait
  bool fails_after_ = false;  // the new file is in its place, its folder is not synced
  std::function<void()> loaded_;
  std::vector<std::pair<LedgerWrite, std::function<void(const Status&)>>> waiting_;
  device::Snapshot snapshot_;
  device::SampleSet samples_{.version = 1,
                             .begun = SteadyTime(hours(5)),
                             .taken = WallTime(seconds(1'700'000'000)),
                             .gpus = {}};
  pods::PodMap pods_;
  pools::Assignment assignment_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderTest, CountsFromRoundToRound) {
  Round(seconds(0));
  EXPECT_EQ(Counted(), 0);
  Round(seconds(15));
  Round(seconds(10));
  EXPECT_EQ(Counted(), 25);
  EXPECT_EQ(recorder_->current().at({"ml", "a"}).gpu_seconds, 25);
}

TEST_F(RecorderTest, APodThatIsGoneIsNoLongerCurrent) {
  Rounds(minutes(1));
  pods_.devices.clear();
  Round(seconds(15));
  EXPECT_THAT(recorder_->current(), IsEmpty());
  EXPECT_EQ(Counted(), 45);
}

TEST_F(RecorderTest, TimeThatWasNotMeasuredIsNotCounted) {
  Round(seconds(0));
  Round(hours(3));
  EXPECT_EQ(Counted(), 300);
}

TEST_F(RecorderTest, BetweenTwoRoundsWhatIsHandedOutIsCounted) {
  Round(seconds(0));
  for (int minute = 1; minute <= 180; ++minute) {
    const auto later = minutes(minute);
    recorder_->Count(
        {.snapshot = snapshot_, .samples = {}, .pods = pods_, .assignment = assignment_},
        samples_.begun + later, samples_.taken + later);
  }
  EXPECT_EQ(Counted(), 180 * 60);
  EXPECT_EQ(recorder_->current().at({"ml", "a"}).unreported_gpu_seconds, 180 * 60);
  Round(minutes(180) + seconds(15));
  EXPECT_EQ(Counted(), 180 * 60 + 15);
}

TEST_F(RecorderTest, ARoundThatBeganBeforeTheLastCountCountsNothingTwice) {
  Round(seconds(0));
  recorder_->Count({.snapshot = snapshot_, .samples = {}, .pods = pods_, .assignment = assignment_},
                   samples_.begun + seconds(60), samples_.taken + seconds(60));
  Round(seconds(50));
  Round(seconds(15));
  EXPECT_EQ(Counted(), 65);
}

TEST_F(RecorderTest, APauseIsNotCounted) {
  Round(seconds(0));
  recorder_->Pause();
  Round(seconds(60));
  Round(seconds(15));
  EXPECT_EQ(Counted(), 15);
}

TEST_F(RecorderTest, AClockThatJumpsInventsAndLosesNothing) {
  Rounds(minutes(10));
  const double before = Counted();
  samples_.taken -= hours(24 * 365);
  Round(seconds(15));
  samples_.taken += hours(24 * 365 * 40);
  Round(seconds(15));
  samples_.taken -= hours(24 * 365 * 39);
  Rounds(minutes(50));
  EXPECT_THAT(Counted(), DoubleNear(before + 30 + 3000, 1e-6));
  // With the wrong clock the hour came to its end: nothing old was forgotten by it.
  EXPECT_EQ(recorder_->ledger().hours(), 4U);
}

TEST_F(RecorderTest, OldHoursAreForgottenByATrustedClock) {
  recorder_->SetRetention(std::chrono::days(1));
  Rounds(hours(2));
  samples_.taken += hours(48);
  Rounds(minutes(59));
  EXPECT_GT(recorder_->ledger().hours(), 2U);
  Rounds(hours(2));
  Hour oldest = Hour::max();
  recorder_->ledger().ForEach(
      [&oldest](Hour hour, const PodName&, const Amounts&) { oldest = std::min(oldest, hour); });
  EXPECT_GT(oldest, std::chrono::floor<hours>(samples_.taken) - hours(25));
}

TEST_F(RecorderTest, AKilledProcessLosesAMinuteAtMost) {
  Rounds(minutes(10));
  const double before = Counted();
  Restart();
  EXPECT_GE(Counted(), before - 75);
  EXPECT_EQ(recorder_->problem(), "");
}

TEST_F(RecorderTest, AnEndInOrderLosesNothingHoweverOften) {
  for (int i = 0; i < 5; ++i) {
    Rounds(minutes(3));
    recorder_->Flush();
    const double before = Counted();
    Restart();
    EXPECT_THAT(Counted(), DoubleNear(before, 0.01));
  }
}

TEST_F(RecorderTest, NothingIsCountedTwiceOverManyWritesAndKills) {
  double lost = 0;
  for (int i = 0; i < 20; ++i) {
    Rounds(minutes(23));
    const double before = Counted();
    Restart();
    EXPECT_LE(Counted(), before + 0.01);
    lost += before - Counted();
  }
  EXPECT_LE(lost, 20 * 75);
}

TEST_F(RecorderTest, AFullDiskForgetsNothingOnceThereIsRoom) {
  is_full_ = true;
  Rounds(hours(3));
  EXPECT_THAT(recorder_->problem(), HasSubstr("full"));
  is_full_ = false;
  Rounds(minutes(2));
  EXPECT_EQ(recorder_->problem(), "");
  const double before = Counted();
  Restart();
  EXPECT_GE(Counted(), before - 75);
}

TEST_F(RecorderTest, WhatComesWhileTheDiskIsSlowIsKeptToo) {
  Rounds(hours(1));
  is_slow_ = true;
  Rounds(minutes(5));
  ASSERT_FALSE(waiting_.empty());
  FinishWrites();
  is_slow_ = false;
  Rounds(minutes(3));
  const double before = Counted();
  Restart();
  EXPECT_GE(Counted(), before - 75);
  EXPECT_LE(Counted(), before + 0.01);
}

TEST_F(RecorderTest, TheEndWhileAWriteIsInProgressLosesNothing) {
  Rounds(minutes(59));
  is_slow_ = true;
  Rounds(minutes(5));
  recorder_->Flush();
  const double before = Counted();
  FinishWrites();
  is_slow_ = false;
  Restart();
  EXPECT_THAT(Counted(), DoubleNear(before, 0.01));
}

TEST_F(RecorderTest, ADamagedFileIsPutAside) {
  Rounds(hours(2));
  dir_.WriteFile("usage/ledger", "noise\n");
  Restart();
  EXPECT_THAT(recorder_->problem(), HasSubstr("not a usage file"));
  EXPECT_EQ(dir_.ReadFile("usage/ledger.bad"), "noise\n");
  Rounds(minutes(5));
  EXPECT_EQ(recorder_->problem(), "");
}

TEST_F(RecorderTest, TheNewestDamagedFilesAreKept) {
  for (const char* noise : {"1\n", "2\n", "3\n", "4\n"}) {
    dir_.WriteFile("usage/ledger", noise);
    Restart();
  }
  EXPECT_EQ(dir_.ReadFile("usage/ledger.bad"), "4\n");
  EXPECT_EQ(dir_.ReadFile("usage/ledger.bad.1"), "3\n");
  EXPECT_EQ(dir_.ReadFile("usage/ledger.bad.2"), "2\n");
}

TEST_F(RecorderTest, ADiskThatCannotBeReadForAWhileLosesNothing) {
  Rounds(hours(2));
  recorder_->Flush();
  const double before = Counted();
  is_broken_ = true;
  Restart();
  Rounds(hours(1));
  EXPECT_THAT(recorder_->problem(), HasSubstr("input/output"));
  EXPECT_LT(Counted(), before);
  is_broken_ = false;
  Rounds(minutes(2));
  EXPECT_EQ(recorder_->problem(), "");
  const double both = Counted();
  EXPECT_GT(both, before + 3500);
  recorder_->Flush();
  Restart();
  EXPECT_THAT(Counted(), DoubleNear(both, 0.01));
}

TEST(LoadLedgerTest, WhatCannotBeReadNowStaysWhereItIs) {
  const TempDir dir;
  dir.MakeDir("usage/ledger");
  EXPECT_FALSE(LoadLedger(dir.At("usage")).ok());
  EXPECT_FALSE(std::filesystem::exists(dir.At("usage/ledger.bad")));
}

TEST_F(RecorderTest, CountsWhileTheFilesAreBeingRead) {
  Rounds(hours(1));
  recorder_->Flush();
  const double before = Counted();
  is_slow_ = true;
  Restart();
  Rounds(minutes(10));
  EXPECT_EQ(Counted(), 585);
  EXPECT_THAT(waiting_, IsEmpty()) << "nothing is written over what was not read";
  is_slow_ = false;
  loaded_();
  EXPECT_THAT(Counted(), DoubleNear(before + 585, 0.01));
  recorder_->Flush();
  Restart();
  EXPECT_THAT(Counted(), DoubleNear(before + 585, 0.01));
}

TEST_F(RecorderTest, AnEndBeforeTheFilesWereReadAddsToThem) {
  Rounds(hours(1));
  recorder_->Flush();
  const double before = Counted();
  is_slow_ = true;
  Restart();
  Rounds(minutes(10));
  recorder_->Flush();
  FinishWrites();
  is_slow_ = false;
  Restart();
  EXPECT_THAT(Counted(), DoubleNear(before + 585, 0.01));
}

TEST_F(RecorderTest, AWriteThatFailsAtItsVeryEndLosesAMinuteAtMost) {
  Rounds(minutes(30));
  fails_after_ = true;
  Rounds(minutes(50));
  EXPECT_THAT(recorder_->problem(), HasSubstr("sync"));
  const double before = Counted();
  Restart();
  EXPECT_GE(Counted(), before - 75);
  EXPECT_LE(Counted(), before + 0.01);
}

TEST_F(RecorderTest, AWriteThatIsNotTakenIsReportedAndTriedAgainSoon) {
  Rounds(minutes(59));
  takes_writes_ = false;
  Rounds(minutes(3));
  EXPECT_THAT(recorder_->problem(), HasSubstr("the disk is too slow"));
  takes_writes_ = true;
  Rounds(minutes(2));
  EXPECT_EQ(recorder_->problem(), "");
  const double before = Counted();
  Restart();
  EXPECT_GE(Counted(), before - 75);
}

TEST_F(RecorderTest, TheEndIsWrittenOnce) {
  Rounds(minutes(5));
  is_slow_ = true;
  recorder_->Flush();
  recorder_->Flush();
  EXPECT_EQ(waiting_.size(), 1U);
}

}  // namespace
}  // namespace kgpu::usage
