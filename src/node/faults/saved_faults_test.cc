#include "src/node/faults/saved_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>

namespace kgpu::faults {
namespace {

using ::testing::Optional;
using ::testing::SizeIs;

const device::GpuUuid kGpu = *device::GpuUuid::Parse("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000");

TEST(SavedFaultsTest, KeepFaultsAndTheirPlaceInTheKernelsLog) {
  const health::OpenFault fault{.scope = {kGpu, 2, 1},
                                .rule = "Xid94",
                                .is_held = true,
                                .message = "Contained.",
                                .detail = "SM 3",
                                .first = WallTime(std::chrono::milliseconds(1'700'000'000'123)),
                                .last = WallTime(std::chrono::milliseconds(1'700'000'100'456)),
                                .count = 7};
  const health::OpenFault warning{
      .scope = {.gpu = kGpu}, .rule = "ThermalSlowdown", .is_unhealthy = false};
  boost::json::object state;
  SaveFaults({.open = {fault, warning}, .kernel_log_position = 4711}, state);
  const SavedFaults saved = ReadFaults(state);
  ASSERT_THAT(saved.open, SizeIs(1)) << "a warning comes back by itself";
  EXPECT_EQ(saved.open[0], fault);
  EXPECT_THAT(saved.kernel_log_position, Optional(4711U));
}

TEST(SavedFaultsTest, MayNotKnowWhereTheKernelsLogIs) {
  boost::json::object state;
  SaveFaults({}, state);
  EXPECT_EQ(ReadFaults(state).kernel_log_position, std::nullopt);
  EXPECT_EQ(ReadFaults({}).kernel_log_position, std::nullopt);
}

TEST(SavedFaultsTest, LeaveOutWhatIsOfNoGpuAndTimesOutOfRange) {
  const boost::json::value state = boost::json::parse(
      R"({"faults": [7, {"rule": "Xid48"}, {"gpu": "GPU-x"},
          {"gpu": "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000", "first": 9223372036854775807}],
          "kernelLogPosition": -1})");
  const SavedFaults saved = ReadFaults(state.as_object());
  ASSERT_THAT(saved.open, SizeIs(1));
  EXPECT_EQ(saved.open[0].first, WallTime());
  EXPECT_EQ(saved.kernel_log_position, std::nullopt);
}

}  // namespace
}  // namespace kgpu::faults
