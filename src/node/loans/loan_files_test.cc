#include "src/node/loans/loan_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/node/loans/test_stock.h"
#include "src/platform/base/log.h"
#include "testing/elf_library.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::loans {
namespace {

using ::testing::HasSubstr;

class LoanFilesTest : public ::testing::Test {
 public:
  ~LoanFilesTest() override { SetLogSink({}); }

 protected:
  LoanFilesTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    dir_.WriteFile("lib.so", ElfLibrary("library"));
  }

  // One more loan, of one slice.
  loans::Ledger& Add(unsigned replica) {
    const loans::LentSlices slices = {loans::TestSlice(0, replica, 4)};
    EXPECT_OK(ledger_.Add({.holder = fmt::format("fn/a/{}", replica),
                           .model = "T4",
                           .gpus = loans::GpusOf(slices),
                           .slices = slices},
                          WallTime(std::chrono::seconds(1))));
    return ledger_;
  }
  void Finish() {
    for (const auto& result : std::exchange(results_, {})) {
      result();
    }
  }
  LoanFiles::Done Note() {
    return [this](const StatusOr<sharing::SlicePaths>& paths) { told_.push_back(paths.status()); };
  }

  TempDir dir_;
  FakeLoop loop_;
  loans::Ledger ledger_;
  std::vector<std::function<void()>> results_;
  std::vector<Status> told_;
  LoanFiles files_{loop_,
                   [this](const std::function<std::function<void()>()>& job,
                          const std::function<void(const Status&)>&) {
                     results_.push_back(job());
                     return true;
                   },
                   slices::SliceFilesOptions{.library = dir_.At("lib.so"),
                                             .folder = dir_.At("lent"),
                                             .engine_folder = "/e",
                                             .most_kept = 0}};
};

TEST_F(LoanFilesTest, TellsOnceTheFilesAreThere) {
  files_.Set(Add(0));
  files_.WhenWritten(Note());
  EXPECT_TRUE(told_.empty());
  Finish();
  ASSERT_EQ(told_.size(), 1);
  EXPECT_OK(told_[0]);
  files_.WhenWritten(Note());
  EXPECT_EQ(told_.size(), 2) << "nothing is to be done";
  EXPECT_EQ(files_.paths().folder, "/e");
}

TEST_F(LoanFilesTest, WaitsForTheFilesOfTheNewestLoan) {
  files_.Set(Add(0));
  files_.WhenWritten(Note());
  const auto late = std::exchange(results_, {});
  files_.Set(Add(1));
  late.front()();
  EXPECT_TRUE(told_.empty());
  Finish();
  ASSERT_EQ(told_.size(), 1);
  EXPECT_OK(told_[0]);
}

TEST_F(LoanFilesTest, TellsWhyThereAreNone) {
  std::filesystem::remove(dir_.At("lib.so"));
  files_.Set(Add(0));
  files_.WhenWritten(Note());
  Finish();
  ASSERT_EQ(told_.size(), 1);
  EXPECT_FALSE(told_[0].ok());
  EXPECT_NE(files_.problem(), "");
}

TEST_F(LoanFilesTest, NobodyWaitsForALoanThatHasEnded) {
  files_.Set(Add(0));
  files_.WhenWritten(Note());
  files_.Set(loans::Ledger());
  ASSERT_EQ(told_.size(), 1);
  EXPECT_THAT(told_[0], StatusIs(StatusCode::kUnavailable));
  Finish();
  EXPECT_EQ(told_.size(), 1);
}

TEST_F(LoanFilesTest, HowManyWaitIsLimited) {
  files_.Set(Add(0));
  for (int i = 0; i < 65; ++i) {
    files_.WhenWritten(Note());
  }
  ASSERT_EQ(told_.size(), 1);
  EXPECT_THAT(told_[0], StatusIs(StatusCode::kResourceExhausted, HasSubstr("64 loans wait")));
  Finish();
  EXPECT_EQ(told_.size(), 65);
}

// A slot that goes to another borrower gets a new ledger; one that stays lent keeps its own.
TEST_F(LoanFilesTest, EachLoanHasALedgerOfItsOwn) {
  const auto path = [this](unsigned replica) {
    return dir_.At("lent/" + sharing::FileOfSlot(loans::SlotIdOf(loans::TestGpu(0), replica),
                                                 sharing::kLedgerName));
  };
  files_.Set(ledger_);
  files_.Set(Add(0));
  Finish();
  std::filesystem::create_hard_link(path(0), dir_.At("of-0"));
  files_.Set(Add(1));
  Finish();
  EXPECT_TRUE(std::filesystem::equivalent(path(0), dir_.At("of-0")));
  std::filesystem::create_hard_link(path(1), dir_.At("of-1"));
  ledger_.Remove(ledger_.FindByHolder("fn/a/0")->id);
  files_.Set(ledger_);
  files_.Set(Add(0));  // before the disk has done anything
  Finish();
  EXPECT_FALSE(std::filesystem::equivalent(path(0), dir_.At("of-0")));
  EXPECT_TRUE(std::filesystem::equivalent(path(1), dir_.At("of-1")));
  // While nothing is lent, the files stay.
  files_.Set(loans::Ledger());
  Finish();
  std::filesystem::create_hard_link(path(1), dir_.At("again-1"));
  files_.Set(ledger_);
  Finish();
  EXPECT_FALSE(std::filesystem::equivalent(path(1), dir_.At("again-1")));
}

// Its borrowers may have them.
TEST_F(LoanFilesTest, AnAgentThatStartsKeepsTheLedgersOfItsLoans) {
  slices::SliceFilesOptions options{
      .library = dir_.At("lib.so"), .folder = dir_.At("lent"), .engine_folder = "/e"};
  ASSERT_OK(slices::WriteSliceFiles(options, Add(0).slices()));
  const std::string path = dir_.At(
      "lent/" + sharing::FileOfSlot(loans::SlotIdOf(loans::TestGpu(0), 0), sharing::kLedgerName));
  std::filesystem::create_hard_link(path, dir_.At("mounted"));
  files_.Set(ledger_);
  Finish();
  EXPECT_TRUE(std::filesystem::equivalent(path, dir_.At("mounted")));
}

TEST_F(LoanFilesTest, RestsWhileNothingIsLent) {
  files_.Set(ledger_);
  files_.Set(Add(0));
  Finish();
  files_.Set(loans::Ledger());
  loop_.Advance(std::chrono::hours(1));
  EXPECT_TRUE(results_.empty());
}

}  // namespace
}  // namespace kgpu::loans
