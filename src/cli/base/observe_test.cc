#include "src/cli/base/observe.h"

#include <gtest/gtest.h>

#include <string>

namespace kgpu::cli {
namespace {

std::string NoteOf(device::DriverState state) {
  device::Driver driver;
  driver.state = state;
  driver.reason = "the reason";
  testing::internal::CaptureStderr();
  NoteSilentDriver("kgpu labels", driver);
  return testing::internal::GetCapturedStderr();
}

TEST(ObserveTest, WhyNothingIsKnownOfTheGpusIsSaidOnce) {
  EXPECT_EQ(NoteOf(device::DriverState::kReady), "");
  EXPECT_EQ(NoteOf(device::DriverState::kNotLoaded), "kgpu labels: the reason\n");
  // Said while it was waited for.
  EXPECT_EQ(NoteOf(device::DriverState::kStarting), "");
  EXPECT_EQ(NoteOf(device::DriverState::kUnresponsive), "");
}

}  // namespace
}  // namespace kgpu::cli
