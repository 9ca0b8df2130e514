#include "src/node/inventory/driver_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/inventory/test_host.h"

namespace kgpu::inventory {
namespace {

using device::DriverState;
using probe::Down;
using probe::DownCause;
using ::testing::HasSubstr;

host::DriverFacts LoadedDriver() {
  host::DriverFacts facts;
  facts.is_nvidia_loaded = true;
  facts.is_nvidia_live = true;
  facts.module_version = "535.104.05";
  facts.library_versions = {"535.104.05"};
  facts.nvml_library = "/usr/lib/libnvidia-ml.so.535.104.05";
  facts.has_control_node = true;
  return facts;
}

TEST(ExplainDownTest, EachWayToBeDownHasItsState) {
  struct Case {
    Down down;
    DriverState state;
    std::string text;
  };
  for (const Case& c :
       {Case{{DownCause::kUnresponsive, nvml::kSuccess, "reading a GPU did not return", true},
             DriverState::kUnresponsive,
             "reading a GPU did not return"},
        Case{{DownCause::kCrashed, nvml::kSuccess, "kgpu-probe was killed by signal 11", true},
             DriverState::kFailed,
             "signal 11"},
        Case{{DownCause::kNotStarted, nvml::kSuccess, "CUDA and NVML need glibc", false},
             DriverState::kFailed,
             "glibc"},
        Case{{DownCause::kLoadFailed, nvml::kSuccess, "libfoo.so: no such file", false},
             DriverState::kFailed,
             "libfoo.so"},
        Case{{DownCause::kInitFailed, nvml::kErrorNoPermission, "", false},
             DriverState::kNoPermission,
             "/dev/nvidia"},
        Case{{DownCause::kInitFailed, nvml::kErrorLibRmVersionMismatch, "", false},
             DriverState::kVersionMismatch,
             "535.104.05"},
        Case{{DownCause::kInitFailed, nvml::kErrorDriverNotLoaded, "", false},
             DriverState::kNotLoaded,
             "reload the module"},
        Case{{DownCause::kInitFailed, nvml::kErrorUnknown, "nvmlInit: odd", false},
             DriverState::kFailed,
             "nvmlInit: odd"}}) {
    const device::Driver driver = ExplainDown(c.down, LoadedDriver(), HostView{});
    EXPECT_EQ(device::ToString(driver.state), device::ToString(c.state)) << c.down.text;
    EXPECT_THAT(driver.reason, HasSubstr(c.text));
    EXPECT_EQ(driver.module_version, "535.104.05");
  }
}

TEST(ExplainDownTest, AHostWithoutDriverMissesIt) {
  const Down down{DownCause::kNoLibrary, nvml::kSuccess, "no libnvidia-ml.so.1", false};
  EXPECT_EQ(ExplainDown(down, host::DriverFacts{}, HostView{}).state, DriverState::kMissing);
}

TEST(HealthWithoutTest, SaysWhetherTheDriverHangs) {
  device::Driver driver;
  driver.state = DriverState::kUnresponsive;
  driver.reason = "hangs";
  EXPECT_EQ(HealthWithout(driver), (device::Health{false, "DriverUnresponsive", "hangs"}));
  driver.state = DriverState::kNotLoaded;
  EXPECT_EQ(HealthWithout(driver).reason, "DriverNotReady");
}

TEST(ReadyDriverTest, TakesVersionsFromTheLibraryAndTheModule) {
  const TestHost host;
  const device::Driver driver = ReadyDriver({.driver_version = "535.104.05",
                                             .nvml_version = "12.535.104.05",
                                             .cuda_version = 12020,
                                             .gpu_count = 2},
                                            "/lib/libnvidia-ml.so.1", host.Open().host);
  EXPECT_EQ(driver.state, DriverState::kReady);
  EXPECT_EQ(driver.cuda_major, 12);
  EXPECT_EQ(driver.cuda_minor, 2);
  EXPECT_EQ(driver.module_version, "535.104.05");
  EXPECT_EQ(driver.reason, "");
}

}  // namespace
}  // namespace kgpu::inventory
