#include "src/node/loans/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "src/node/loans/test_stock.h"
#include "src/platform/base/time_text.h"

namespace kgpu::loans {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};

Loan MakeLoan(const std::string& holder, std::vector<device::GpuUuid> gpus) {
  return {.holder = holder, .model = "T4", .gpus = std::move(gpus)};
}

TEST(LedgerTest, FindsALoanByIdHolderAndGpu) {
  Ledger ledger;
  const auto loan = ledger.Add(MakeLoan("fn/a/1", TestGpus({0, 1})), kNow);
  ASSERT_OK(loan);
  EXPECT_EQ(*ledger.FindById(loan->id), *loan);
  EXPECT_EQ(*ledger.FindByHolder("fn/a/1"), *loan);
  EXPECT_EQ(*ledger.FindByGpu(TestGpu(1)), *loan);
  EXPECT_EQ(ledger.FindByGpu(TestGpu(2)), nullptr);
  EXPECT_EQ(ledger.FindById("x"), nullptr);
  EXPECT_EQ(ledger.FindByHolder("fn/a/2"), nullptr);
}

TEST(LedgerTest, NeverLendsAGpuTwice) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(MakeLoan("a", TestGpus({0})), kNow));
  EXPECT_THAT(ledger.Add(MakeLoan("b", TestGpus({1, 0})), kNow),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("is lent to a already")));
  EXPECT_THAT(ledger.Add(MakeLoan("c", TestGpus({2, 2})), kNow),
              StatusIs(StatusCode::kAlreadyExists));
  EXPECT_THAT(ledger.Add(MakeLoan("a", TestGpus({3})), kNow), StatusIs(StatusCode::kAlreadyExists));
  EXPECT_THAT(ledger.loans(), SizeIs(1));
}

Loan SliceLoan(const std::string& holder, LentSlices slices) {
  std::vector<device::GpuUuid> gpus = GpusOf(slices);
  return {.holder = holder, .model = "T4", .gpus = std::move(gpus), .slices = std::move(slices)};
}

TEST(LedgerTest, LendsAGpuWholeOrBySlices) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(SliceLoan("a", {TestSlice(0, 0, 4), TestSlice(0, 1, 4)}), kNow));
  ASSERT_OK(ledger.Add(SliceLoan("b", {TestSlice(0, 2, 4)}), kNow));
  EXPECT_THAT(ledger.Add(SliceLoan("c", {TestSlice(1, 0, 4), TestSlice(0, 1, 4)}), kNow),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("::1 is lent to a already")));
  EXPECT_THAT(ledger.Add(MakeLoan("c", TestGpus({0})), kNow),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("is lent to a already")));
  ASSERT_OK(ledger.Add(MakeLoan("c", TestGpus({1})), kNow));
  EXPECT_THAT(ledger.Add(SliceLoan("d", {TestSlice(1, 0, 4)}), kNow),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("is lent to c already")));
  EXPECT_EQ(ledger.FindBySlot(SlotIdOf(TestGpu(0), 2))->holder, "b");
  EXPECT_EQ(ledger.FindBySlot(SlotIdOf(TestGpu(0), 3)), nullptr);
  EXPECT_EQ(ledger.FindByGpu(TestGpu(0))->holder, "a");
  EXPECT_THAT(IdsOf(ledger.slices()), SizeIs(3));
  ledger.Remove(ledger.FindByHolder("a")->id);
  ASSERT_OK(ledger.Add(SliceLoan("d", {TestSlice(0, 1, 4)}), kNow));
}

TEST(LedgerTest, RefusesWhatIsNoSlice) {
  Ledger ledger;
  EXPECT_THAT(ledger.Add(SliceLoan("a", {TestSlice(0, 0, 4), TestSlice(0, 0, 4)}), kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(ledger.Add(SliceLoan("a", {TestSlice(0, 0, 0)}), kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a memory slice")));
  Loan other = SliceLoan("a", {TestSlice(0, 0, 4)});
  other.gpus = TestGpus({1});
  EXPECT_THAT(ledger.Add(other, kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not those of its slices")));
  other = SliceLoan("a", {TestSlice(0, 0, 4)});
  other.slices[0].id += "x";
  EXPECT_THAT(ledger.Add(other, kNow), StatusIs(StatusCode::kInvalidArgument));
  LentSlices many;
  for (unsigned i = 0; i <= sharing::kMostSlices; ++i) {
    many.push_back(TestSlice(0, i, 1));
  }
  EXPECT_THAT(ledger.Add(SliceLoan("a", many), kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the limit of 32")));
}

TEST(LedgerTest, ReadsSlicesWithAllTheirSettings) {
  Ledger ledger;
  LentSlices slices = {TestSlice(0, 0, 4), TestSlice(1, 3, 4)};
  slices[0].share.context = MebiBytes(100);
  slices[0].share.counts_pinned = true;
  slices[0].share.unknown = sharing::UnknownApi::kFlag;
  slices[1].share.size = sharing::SliceSize{.parts = 4};
  ASSERT_OK(ledger.Add(SliceLoan("fn/a/1", slices), kNow));
  ASSERT_OK(ledger.Add(MakeLoan("fn/b/1", TestGpus({2})), kNow));
  const std::string text = PrintLedger(ledger);
  const auto again = ParseLedger(text, "loans.json");
  ASSERT_OK(again);
  EXPECT_EQ(*again, ledger);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ParseLedger(std::string_view(text).substr(0, size), "loans.json").ok()) << size;
  }
}

// As agents wrote it that knew no slices.
TEST(LedgerTest, ReadsALedgerOfEarlierAgents) {
  const auto ledger = ParseLedger(
      R"({"version": 1, "next": 2, "loans": [{"id": "6553f100-1", "holder": "fn/a/1", "model": "T4",
          "gpus": ["GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000"],
          "since": "2023-11-14T22:13:20Z"}]})",
      "loans.json");
  ASSERT_OK(ledger);
  ASSERT_THAT(ledger->loans(), SizeIs(1));
  EXPECT_EQ(ledger->loans()[0].gpus, TestGpus({0}));
  EXPECT_TRUE(ledger->loans()[0].slices.empty());
}

TEST(LedgerTest, RefusesSlicesThatAreIncomplete) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(SliceLoan("fn/a/1", {TestSlice(0, 0, 4)}), kNow));
  const std::string text = PrintLedger(ledger);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"slot\": 0", "\"slot\": 1024"},
                                                        {"\"slot\": 0", "\"slot\": -1"},
                                                        {"\"memory\": 4294967296", "\"memory\": 0"},
                                                        {"\"by\": \"memory\"", "\"by\": \"time\""},
                                                        {"\"slices\"", "\"pieces\""}}) {
    std::string changed = text;
    const size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from << text;
    changed.replace(at, from.size(), to);
    EXPECT_THAT(ParseLedger(changed, "loans.json"), StatusIs(StatusCode::kInvalidArgument)) << to;
  }
}

TEST(LedgerTest, AGpuOfALoanThatHasEndedIsFree) {
  Ledger ledger;
  const auto first = ledger.Add(MakeLoan("a", TestGpus({0})), kNow);
  ASSERT_OK(first);
  EXPECT_TRUE(ledger.Remove(first->id));
  EXPECT_FALSE(ledger.Remove(first->id));
  const auto second = ledger.Add(MakeLoan("b", TestGpus({0})), kNow);
  ASSERT_OK(second);
  EXPECT_NE(second->id, first->id);
}

TEST(LedgerTest, TheNumberOfLoansAndOfTheirGpusIsLimited) {
  Ledger ledger;
  for (unsigned i = 0; i < kMaxLoans; ++i) {
    ASSERT_OK(ledger.Add(MakeLoan(fmt::format("h{}", i), TestGpus({i})), kNow));
  }
  EXPECT_THAT(ledger.Add(MakeLoan("more", {TestGpu(kMaxLoans)}), kNow),
              StatusIs(StatusCode::kResourceExhausted));
  EXPECT_OK(ParseLedger(PrintLedger(ledger), "loans.json"));
  EXPECT_THAT(Ledger().Add(MakeLoan("none", {}), kNow), StatusIs(StatusCode::kInvalidArgument));
}

TEST(LedgerTest, ReadsWhatItPrints) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(MakeLoan("fn/a/1", TestGpus({0, 1})), kNow + std::chrono::milliseconds(7)));
  ASSERT_OK(ledger.Add(MakeLoan("fn/b/2", TestGpus({5})), kNow));
  const auto again = ParseLedger(PrintLedger(ledger), "loans.json");
  ASSERT_OK(again);
  EXPECT_EQ(*again, ledger);
  EXPECT_EQ(ParseLedger(PrintLedger(Ledger()), "loans.json").value(), Ledger());
}

TEST(LedgerTest, EveryTornTextIsRefused) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(MakeLoan("fn/a/1", TestGpus({0})), kNow));
  const std::string text = PrintLedger(ledger);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    const auto torn = ParseLedger(std::string_view(text).substr(0, size), "loans.json");
    EXPECT_THAT(torn, StatusIs(StatusCode::kInvalidArgument)) << size;
  }
}

TEST(LedgerTest, RefusesWhatBreaksAnInvariant) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(MakeLoan("fn/a/1", TestGpus({0})), kNow));
  const std::string text = PrintLedger(ledger);
  const auto with = [&text](std::string_view from, std::string_view to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return ParseLedger(changed.replace(at, from.size(), to), "loans.json");
  };
  const std::string loan = text.substr(text.find('[') + 1, text.rfind(']') - text.find('[') - 1);
  EXPECT_THAT(with(loan, loan + "," + loan),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is the id of two loans")));
  EXPECT_THAT(with("\"version\": 1", "\"version\": 2"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(with("\"next\": 2", "\"next\": 0"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(with("GPU-", "MIG-"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(with("fn/a/1", "fn/a 1"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(with("T4", ""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(with("\"holder\"", "\"owner\""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("owner")));
  EXPECT_THAT(with("\"since\"", "\"until\""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("until")));
  EXPECT_THAT(ParseLedger("{}", "loans.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no ledger of lent GPUs")));
}

// The ledger would not be read after a restart.
TEST(LedgerTest, LendsNothingByAClockWhoseTimeCannotBeReadBack) {
  for (const WallTime time : {kLastTime + std::chrono::seconds(1), WallTime::max()}) {
    Ledger ledger;
    EXPECT_THAT(ledger.Add(MakeLoan("a", TestGpus({0})), time),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("set the clock")));
    EXPECT_EQ(ledger, Ledger());
  }
  for (const WallTime time : {kFirstTime, WallTime(), kLastTime}) {
    Ledger ledger;
    ASSERT_OK(ledger.Add(MakeLoan("a", TestGpus({0})), time));
    EXPECT_EQ(ParseLedger(PrintLedger(ledger), "loans.json").value(), ledger);
  }
}

TEST(LedgerTest, ADateThatIsNotUnderstoodCostsTheDateAlone) {
  Ledger ledger;
  ASSERT_OK(ledger.Add(MakeLoan("fn/a/1", TestGpus({0})), kNow));
  ASSERT_OK(ledger.Add(MakeLoan("fn/b/1", TestGpus({1})), kNow));
  std::string text = PrintLedger(ledger);
  text.replace(text.find("2023"), 4, "2251");
  const auto again = ParseLedger(text, "loans.json");
  ASSERT_OK(again);
  EXPECT_EQ(again->FindByHolder("fn/a/1")->since, WallTime());
  EXPECT_EQ(again->FindByGpu(TestGpu(0))->holder, "fn/a/1");
  EXPECT_EQ(*again->FindByHolder("fn/b/1"), *ledger.FindByHolder("fn/b/1"));
}

TEST(CheckHolderTest, AllowsNamesOnly) {
  for (const char* holder : {"a", "fn/hello/4f1c", "7:x_y-z.w", "A/B"}) {
    EXPECT_OK(CheckHolder(holder)) << holder;
  }
  for (const std::string& holder :
       {std::string(), std::string("/a"), std::string("a b"), std::string("a\n"), std::string("ä"),
        std::string(kMaxHolderSize + 1, 'a')}) {
    EXPECT_THAT(CheckHolder(holder), StatusIs(StatusCode::kInvalidArgument)) << holder;
  }
}

}  // namespace
}  // namespace kgpu::loans
