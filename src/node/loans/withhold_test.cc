#include "src/node/loans/withhold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "src/node/loans/test_stock.h"

namespace kgpu::loans {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(WithholdTest, TakesEverySlotOfALentGpuFromTheKubelet) {
  TestStock stock({"T4", "T4"}, "pools:\n- share: {by: time, replicas: 3}\n");
  Withhold([](const device::GpuUuid& gpu) { return gpu == TestGpu(0) ? "lent to fn/a/1" : ""; },
           stock.assignment());
  ASSERT_THAT(stock.assignment().resources, SizeIs(1));
  EXPECT_THAT(stock.assignment().resources[0].slots, SizeIs(3));
  EXPECT_EQ(stock.assignment().resources[0].slots[0].gpu, TestGpu(1));
  ASSERT_THAT(stock.assignment().unassigned, SizeIs(1));
  EXPECT_EQ(stock.assignment().unassigned[0].device_uuid, TestGpu(0).str());
  EXPECT_EQ(stock.assignment().unassigned[0].reason, "lent to fn/a/1");
}

TEST(WithholdTest, LeavesLocalPoolsAlone) {
  TestStock stock({"T4"});
  const pools::Assignment before = stock.assignment();
  Withhold([](const device::GpuUuid&) { return "lent"; }, stock.assignment());
  EXPECT_EQ(stock.assignment(), before);
}

constexpr char kSlices4Gi[] = "pools:\n- {provider: local, share: {by: memory, size: 4Gi}}\n";

Ledger LedgerOf(LentSlices slices, std::vector<device::GpuUuid> gpus) {
  Ledger ledger;
  EXPECT_OK(ledger.Add(
      {.holder = "fn/a/1", .model = "T4", .gpus = std::move(gpus), .slices = std::move(slices)},
      WallTime(std::chrono::seconds(1))));
  return ledger;
}

TEST(KeepAsLentTest, AGpuWhoseSlicesAreLentChangesOnceTheyAreReturned) {
  const Ledger ledger = LedgerOf({TestSlice(0, 2, 4)}, TestGpus({0}));
  TestStock same({"T4", "T4"}, kSlices4Gi);
  const pools::Assignment before = same.assignment();
  KeepAsLent(ledger, same.assignment());
  EXPECT_EQ(same.assignment(), before);
  for (const char* pools : {"pools:\n- {provider: local, share: {by: memory, size: 5Gi}}\n",
                            "pools:\n- {provider: local, share: {by: memory, size: 1/2}}\n",
                            "pools:\n- {provider: local}\n"}) {
    TestStock changed({"T4", "T4"}, pools);
    KeepAsLent(ledger, changed.assignment());
    ASSERT_THAT(changed.assignment().unassigned, SizeIs(1)) << pools;
    EXPECT_EQ(changed.assignment().unassigned[0].device_uuid, TestGpu(0).str());
    EXPECT_THAT(changed.assignment().unassigned[0].reason, HasSubstr("lent to fn/a/1"));
    for (const pools::Slot& slot : changed.assignment().local.at(0).slots) {
      EXPECT_EQ(slot.gpu, TestGpu(1)) << pools;
    }
    EXPECT_FALSE(changed.assignment().local[0].slots.empty());
  }
}

TEST(KeepAsLentTest, AGpuThatIsLentWholeBecomesSlicesOnceItIsReturned) {
  const Ledger ledger = LedgerOf({}, TestGpus({1}));
  TestStock stock({"T4", "T4"}, kSlices4Gi);
  KeepAsLent(ledger, stock.assignment());
  EXPECT_THAT(stock.assignment().local.at(0).slots, SizeIs(3));
  EXPECT_EQ(stock.assignment().local[0].slots[0].gpu, TestGpu(0));
  ASSERT_THAT(stock.assignment().unassigned, SizeIs(1));
  TestStock whole({"T4", "T4"});
  const pools::Assignment before = whole.assignment();
  KeepAsLent(ledger, whole.assignment());
  EXPECT_EQ(whole.assignment(), before);
}

}  // namespace
}  // namespace kgpu::loans
