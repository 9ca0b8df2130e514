#include "src/node/loans/ledger_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "src/node/loans/test_stock.h"
#include "testing/temp_dir.h"

namespace kgpu::loans {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Ledger LedgerWithALoan() {
  Ledger ledger;
  EXPECT_OK(ledger.Add({.holder = "fn/a/1", .model = "T4", .gpus = TestGpus({0})},
                       WallTime(std::chrono::seconds(1'700'000'000))));
  return ledger;
}

TEST(LedgerFileTest, WithoutAFileNothingIsLent) {
  const TempDir dir;
  EXPECT_THAT(LoadLedger(dir.At("loans.json")), IsOkAndHolds(Ledger()));
  EXPECT_THAT(LoadLedger(dir.At("no/such/folder/loans.json")), IsOkAndHolds(Ledger()));
}

TEST(LedgerFileTest, KeepsTheLedgerForItsOwnerAlone) {
  const TempDir dir;
  const std::string path = dir.At("state/loans.json");
  ASSERT_OK(SaveLedger(path, LedgerWithALoan()));
  EXPECT_THAT(LoadLedger(path), IsOkAndHolds(LedgerWithALoan()));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
}

TEST(LedgerFileTest, LeavesAFileThatIsNoLedgerAlone) {
  const TempDir dir;
  dir.WriteFile("loans.json", "{\"version\": 1, \"lo");
  EXPECT_THAT(LoadLedger(dir.At("loans.json")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("loans.json"), HasSubstr("then remove the file"))));
  EXPECT_EQ(dir.ReadFile("loans.json"), "{\"version\": 1, \"lo");
}

TEST(LedgerFileTest, EndsTheLoansOfSomeHoldersWhereNoAgentRuns) {
  const TempDir dir;
  const std::string path = dir.At("loans.json");
  EXPECT_THAT(EndLoansInFile(path, "fn/"), IsOkAndHolds(0U));
  Ledger ledger = LedgerWithALoan();
  const auto other = ledger.Add({.holder = "fn-run/a/1", .model = "T4", .gpus = TestGpus({1})},
                                WallTime(std::chrono::seconds(1'700'000'000)));
  ASSERT_OK(other);
  ASSERT_OK(SaveLedger(path, ledger));
  EXPECT_THAT(EndLoansInFile(path, "fn/"), IsOkAndHolds(1U));
  const auto left = LoadLedger(path);
  ASSERT_OK(left);
  EXPECT_THAT(left->loans(), ::testing::ElementsAre(*other));
  dir.WriteFile("loans.json", "{");
  EXPECT_THAT(EndLoansInFile(path, "fn/"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(LedgerFileTest, AFolderInItsPlaceIsNoEmptyLedger) {
  const TempDir dir;
  dir.MakeDir("loans.json");
  EXPECT_FALSE(LoadLedger(dir.At("loans.json")).ok());
  EXPECT_FALSE(SaveLedger(dir.At("loans.json"), Ledger()).ok());
}

}  // namespace
}  // namespace kgpu::loans
