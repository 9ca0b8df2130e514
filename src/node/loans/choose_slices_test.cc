#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "src/node/loans/choose.h"
#include "src/node/loans/test_stock.h"
#include "src/node/loans/withhold.h"
#include "src/node/sharing/memory/memory.h"

namespace kgpu::loans {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// GPU 0 has slices of 4 GiB, three of them; GPU 1 one of 5 GiB and one of 8 GiB; GPU 2 is whole.
constexpr char kPools[] =
    "pools:\n"
    "- {devices: {index: 0}, provider: local, share: {by: memory, size: 4Gi}}\n"
    "- {devices: {index: 1}, provider: local, share: {by: memory, layout: [8Gi, 5Gi]}}\n"
    "- {devices: {index: 2}, provider: local}\n";

LoanRequest MemoryRequest(uint64_t gibi, size_t count = 1, std::vector<std::string> models = {}) {
  return {
      .holder = "fn/new/1", .count = count, .models = std::move(models), .memory = GibiBytes(gibi)};
}

Ledger WithSlices(const LentSlices& slices) {
  Ledger ledger;
  for (const slices::SliceSlot& slice : slices) {
    EXPECT_OK(ledger.Add({.holder = "fn/old/" + std::to_string(ledger.loans().size()),
                          .model = "T4",
                          .gpus = GpusOf({slice}),
                          .slices = {slice}},
                         WallTime(std::chrono::seconds(1))));
  }
  return ledger;
}

class ChooseSlicesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Slices(const LoanRequest& request, const Ledger& ledger = {}) const {
    const auto choice = stock_.Choose(request, ledger);
    EXPECT_OK(choice);
    return choice.ok() ? IdsOf(choice->slices) : std::vector<std::string>();
  }

  TestStock stock_{{"T4", "T4", "T4"}, kPools};
};

TEST_F(ChooseSlicesTest, TheSmallestSliceThatHasTheMemoryIsLent) {
  EXPECT_THAT(Slices(MemoryRequest(1)), ElementsAre(SlotIdOf(TestGpu(0), 0)));
  EXPECT_THAT(Slices(MemoryRequest(4)), ElementsAre(SlotIdOf(TestGpu(0), 0)));
  EXPECT_THAT(Slices(MemoryRequest(5)), ElementsAre(SlotIdOf(TestGpu(1), 1)));
  EXPECT_THAT(Slices(MemoryRequest(6)), ElementsAre(SlotIdOf(TestGpu(1), 0)));
  const auto choice = stock_.Choose(MemoryRequest(4));
  ASSERT_OK(choice);
  EXPECT_EQ(choice->gpus, TestGpus({0}));
  EXPECT_EQ(choice->model, "T4");
  ASSERT_EQ(choice->slices.size(), 1);
  EXPECT_EQ(choice->slices[0].memory, GibiBytes(4));
  EXPECT_EQ(choice->slices[0].share.by, &sharing::kMemory);
}

TEST_F(ChooseSlicesTest, ALargerOneIsLentIfTheSmallerOnesAreTaken) {
  const Ledger ledger = WithSlices({TestSlice(0, 0, 4), TestSlice(0, 1, 4), TestSlice(0, 2, 4)});
  EXPECT_THAT(Slices(MemoryRequest(4), ledger), ElementsAre(SlotIdOf(TestGpu(1), 1)));
}

TEST_F(ChooseSlicesTest, ASliceIsWaitedForWhileAWholeGpuIsFree) {
  const Ledger ledger = WithSlices({TestSlice(1, 0, 8)});
  EXPECT_THAT(stock_.Choose(MemoryRequest(8), ledger),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no free GPU for 1 × 8Gi of any GPU now"),
                             HasSubstr("0 of 1 slices of 8Gi of T4 are free"),
                             HasSubstr(SlotIdOf(TestGpu(1), 0) + " is lent to fn/old/0"))));
}

TEST_F(ChooseSlicesTest, SlicesOfOneGpuShareAReason) {
  TestStock stock({"T4"},
                  "pools:\n- {devices: all, provider: local, share: {by: memory, size: 4Gi}}\n");
  stock.MarkUnhealthy(0);
  EXPECT_THAT(stock.Choose(MemoryRequest(4)),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr(fmt::format("0 of 3 slices of 4Gi of T4 are free (3 × {} is "
                                             "unhealthy (Xid79))",
                                             TestGpu(0).str()))));
}

TEST_F(ChooseSlicesTest, AWholeGpuIsLentForMoreThanAnySliceHas) {
  const auto choice = stock_.Choose(MemoryRequest(12));
  ASSERT_OK(choice);
  EXPECT_EQ(choice->gpus, TestGpus({2}));
  EXPECT_THAT(choice->slices, IsEmpty());
  EXPECT_THAT(stock_.Choose(MemoryRequest(16)),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("1 × 16Gi of any GPU cannot be lent here"),
                             HasSubstr("1 × T4, 3 × slices of 4Gi of T4"))));
}

TEST_F(ChooseSlicesTest, WithoutMemoryAWholeGpuIsLentAndNoSlice) {
  const auto choice = stock_.Choose({.holder = "fn/new/1"});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->gpus, TestGpus({2}));
  EXPECT_THAT(choice->slices, IsEmpty());
  EXPECT_THAT(stock_.Choose({.holder = "fn/new/1", .count = 2}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("memory for slices")));
}

TEST_F(ChooseSlicesTest, SeveralSlicesAreOfOneSize) {
  EXPECT_THAT(
      Slices(MemoryRequest(4, 3)),
      ElementsAre(SlotIdOf(TestGpu(0), 0), SlotIdOf(TestGpu(0), 1), SlotIdOf(TestGpu(0), 2)));
  EXPECT_THAT(stock_.Choose(MemoryRequest(4, 4)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("request what they have")));
}

TEST_F(ChooseSlicesTest, SlicesOfAnUnhealthyGpuOrOneThatAPodHoldsAreNotLent) {
  stock_.obstacles()[TestGpu(0).str()] = "pod ml/train holds it";
  EXPECT_THAT(Slices(MemoryRequest(4)), ElementsAre(SlotIdOf(TestGpu(1), 1)));
  stock_.MarkUnhealthy(1);
  EXPECT_THAT(stock_.Choose(MemoryRequest(4)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("pod ml/train holds it")));
}

TEST_F(ChooseSlicesTest, ASliceOfAGpuThatHasVanishedMayComeBack) {
  stock_.snapshot().gpus.pop_back();
  stock_.snapshot().gpus.pop_back();
  EXPECT_THAT(stock_.Choose(MemoryRequest(8)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no longer reports")));
  EXPECT_THAT(Slices(MemoryRequest(4)), ElementsAre(SlotIdOf(TestGpu(0), 0)));
}

TEST(ChooseSharedSlicesTest, SeveralSlicesAreSpreadOrRefusedAsThePoolSays) {
  const auto stock = [](std::string_view multiple) {
    return TestStock({"T4", "T4"},
                     fmt::format("pools:\n- {{provider: local, share: {{by: memory, size: 4Gi, "
                                 "multiple: {}}}}}\n",
                                 multiple));
  };
  const auto spread = stock("spread").Choose(MemoryRequest(4, 2));
  ASSERT_OK(spread);
  EXPECT_THAT(IdsOf(spread->slices), ElementsAre(SlotIdOf(TestGpu(0), 0), SlotIdOf(TestGpu(1), 0)));
  EXPECT_THAT(stock("spread").Choose(MemoryRequest(4, 3)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("share.multiple: allow")));
  EXPECT_OK(stock("allow").Choose(MemoryRequest(4, 3)));
  EXPECT_OK(stock("refuse").Choose(MemoryRequest(4)));
  EXPECT_THAT(stock("refuse").Choose(MemoryRequest(4, 2)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("share.multiple: allow")));
}

TEST(ChooseSharedSlicesTest, TheFirstModelWithAFreeSliceWins) {
  const TestStock stock({"T4", "A100-SXM4-80GB"},
                        "pools:\n- {provider: local, share: {by: memory, size: 4Gi}}\n");
  EXPECT_EQ(stock.Choose(MemoryRequest(4, 1, {"A100-*", "T4"})).value().gpus, TestGpus({1}));
  EXPECT_EQ(stock.Choose(MemoryRequest(4, 1, {"T4", "A100-*"})).value().gpus, TestGpus({0}));
}

TEST(ChooseSharedSlicesTest, AGpuThatChangesOnceItIsReturnedIsWaitedFor) {
  TestStock stock({"T4"}, "pools:\n- {provider: local, share: {by: memory, size: 7Gi}}\n");
  const Ledger ledger = WithSlices({TestSlice(0, 0, 4)});
  KeepAsLent(ledger, stock.assignment());
  EXPECT_THAT(stock.Choose(MemoryRequest(7), ledger),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr("1 whose pool has changed, once their loans have ended")));
  EXPECT_THAT(stock.Choose(MemoryRequest(7, 1, {"A100-*"}), ledger),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(ChooseSharedSlicesTest, AHostWithoutSlicesLendsAWholeGpuWithTheMemory) {
  const TestStock stock({"T4"});
  const auto choice = stock.Choose(MemoryRequest(4));
  ASSERT_OK(choice);
  EXPECT_EQ(choice->gpus, TestGpus({0}));
  EXPECT_THAT(choice->slices, IsEmpty());
  EXPECT_THAT(stock.Choose(MemoryRequest(20)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("have 1 × T4")));
}

}  // namespace
}  // namespace kgpu::loans
