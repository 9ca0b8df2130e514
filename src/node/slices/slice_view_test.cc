#include "src/node/slices/slice_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::slices {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

telemetry::SliceFigures Slice(const std::string& pod) {
  return {.user = {.pod_namespace = "n", .pod = pod, .container = "main"},
          .device_uuid = "GPU-a",
          .memory_limit = GibiBytes(20),
          .memory_peak = MebiBytes(1500)};
}

TEST(SliceViewTest, ShowsLimitsAndWhatWasRefused) {
  telemetry::SliceFigures slice = Slice("one");
  slice.refused = 3;
  const std::string table = SliceTable({slice, Slice("two")});
  EXPECT_THAT(table, HasSubstr("n/one/main  GPU-a   20Gi   1500Mi  3\n"));
  EXPECT_THAT(table, Not(HasSubstr("SHARE"))) << "nobody has one";
  EXPECT_EQ(SliceTable({}), "");
}

TEST(SliceViewTest, ShowsSharesOfTheTime) {
  telemetry::SliceFigures slice = Slice("one");
  slice.compute_share = 25;
  slice.compute_target = 50;
  slice.compute_error = -1.6;
  EXPECT_THAT(SliceTable({slice, Slice("two")}), HasSubstr("25%    50%     -2%"));
}

TEST(SliceViewTest, WhatIsNotKnownIsNoField) {
  telemetry::SliceFigures slice = Slice("one");
  slice.compute_share = 25;
  const boost::json::array array = SliceFiguresJson({slice});
  EXPECT_EQ(boost::json::serialize(array),
            R"([{"namespace":"n","pod":"one","container":"main","device":"GPU-a",)"
            R"("memoryLimit":21474836480,"memoryPeak":1572864000,"computeShare":2.5E1}])");
}

}  // namespace
}  // namespace kgpu::slices
