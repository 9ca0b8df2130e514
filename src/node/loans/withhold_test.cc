#include "src/node/loans/withhold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/loans/test_stock.h"

namespace kgpu::loans {
namespace {

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

}  // namespace
}  // namespace kgpu::loans
