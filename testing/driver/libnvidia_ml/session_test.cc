// What nvmlInit finds: the driver, its version, the GPUs that this process may see.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "testing/driver/libnvidia_ml/simulated_library.h"

namespace kgpu::sim {
namespace {

using nvml::Device;

#define SKIP_WITHOUT_NODES(library)                                   \
  if (!(library).has_nodes()) {                                       \
    GTEST_SKIP() << "this machine does not let us make device nodes"; \
  }

// Runs `body` as an unprivileged user in a child; its return value is the child's exit status.
int AsNobody(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) {
      _exit(100);
    }
    _exit(body());
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

TEST(SimulatedNvmlTest, SaysDriverNotLoadedWhereNobodyListens) {
  const SimulatedLibrary library(1);
  EXPECT_EQ(library.Init(), nvml::kErrorDriverNotLoaded);
}

TEST(SimulatedNvmlTest, SaysDriverNotLoadedWhenTheModuleIsUnloaded) {
  const SimulatedLibrary library(1);
  SKIP_WITHOUT_NODES(library);
  RunningServer server(library.root().path(), *SampleState(0));
  server.Change([](SimState& state) { state.driver.is_loaded = 0; });
  EXPECT_EQ(library.Init(), nvml::kErrorDriverNotLoaded);
}

TEST(SimulatedNvmlTest, SaysVersionMismatchWhenTheModuleIsOfAnotherVersion) {
  const SimulatedLibrary library(1, "550.54.14");
  SKIP_WITHOUT_NODES(library);
  const RunningServer server(library.root().path(), *SampleState(0));
  EXPECT_EQ(library.Init(), nvml::kErrorLibRmVersionMismatch);
}

TEST(SimulatedNvmlTest, TakesTheHostsLibraryVersionWhenItsFileCarriesNone) {
  const SimulatedLibrary library(1, "");
  SKIP_WITHOUT_NODES(library);
  const RunningServer server(library.root().path(), *SampleState(0));
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  char version[80] = {};
  EXPECT_EQ(library.Call<nvml::SystemGetNvmlVersionFn>("nvmlSystemGetNVMLVersion", version, 80U),
            nvml::kSuccess);
  EXPECT_STREQ(version, "12.535.261.03");
}

TEST(SimulatedNvmlTest, CountsInitialisations) {
  const SimulatedLibrary library(0);
  SKIP_WITHOUT_NODES(library);
  const RunningServer server(library.root().path(), *SampleState(0));
  uint32_t count = 7;
  auto get_count = [&] {
    return library.Call<nvml::DeviceGetCountFn>("nvmlDeviceGetCount_v2", &count);
  };
  EXPECT_EQ(get_count(), nvml::kErrorUninitialized);
  EXPECT_EQ(library.Init(), nvml::kSuccess);
  EXPECT_EQ(library.Init(), nvml::kSuccess);
  EXPECT_EQ(library.Shutdown(), nvml::kSuccess);
  EXPECT_EQ(get_count(), nvml::kSuccess);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(library.Shutdown(), nvml::kSuccess);
  EXPECT_EQ(get_count(), nvml::kErrorUninitialized);
  EXPECT_EQ(library.Shutdown(), nvml::kErrorUninitialized);
}

TEST(SimulatedNvmlTest, OrdersGpusByPciAddressAndHidesThoseWithoutANode) {
  const SimulatedLibrary library(3);
  SKIP_WITHOUT_NODES(library);
  RunningServer server(library.root().path(), *SampleState(3));
  server.Change([](SimState& state) { state.gpus[2].pci.bus = 0; });
  ASSERT_EQ(unlink(library.root().At("dev/nvidia1").c_str()), 0);
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  ASSERT_EQ(library.Count(), 2U);
  uint32_t minor = 9;
  EXPECT_EQ(library.Call<nvml::DeviceGetUintFn>("nvmlDeviceGetMinorNumber", library.Gpu(0), &minor),
            nvml::kSuccess);
  EXPECT_EQ(minor, 2U);
}

TEST(SimulatedNvmlTest, ShowsANewGpuAfterTheNextInit) {
  const SimulatedLibrary library(2);
  SKIP_WITHOUT_NODES(library);
  RunningServer server(library.root().path(), *SampleState(1));
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  server.Change([](SimState& state) { state = *SampleState(2); });
  EXPECT_EQ(library.Count(), 1U);
  EXPECT_EQ(library.Shutdown(), nvml::kSuccess);
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  EXPECT_EQ(library.Count(), 2U);
}

TEST(SimulatedNvmlTest, NeedsPermissionForTheControlNode) {
  const SimulatedLibrary library(1);
  SKIP_WITHOUT_NODES(library);
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  const RunningServer server(library.root().path(), *SampleState(0));
  ASSERT_EQ(chmod(library.root().At("dev/nvidiactl").c_str(), 0600), 0);
  EXPECT_EQ(AsNobody([&] { return static_cast<int>(library.Init()); }), nvml::kErrorNoPermission);
}

TEST(SimulatedNvmlTest, CountsForbiddenGpusButGivesNoHandle) {
  const SimulatedLibrary library(2);
  SKIP_WITHOUT_NODES(library);
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  RunningServer server(library.root().path(), *SampleState(2));
  ASSERT_EQ(chmod(library.root().At("dev/nvidia1").c_str(), 0600), 0);
  EXPECT_EQ(AsNobody([&] {
              Device device = nullptr;
              if (library.Init() != nvml::kSuccess || library.Count() != 2) {
                return 50;
              }
              if (library.Gpu(0) == nullptr) {
                return 51;
              }
              return static_cast<int>(library.Call<nvml::DeviceGetHandleByIndexFn>(
                  "nvmlDeviceGetHandleByIndex_v2", 1U, &device));
            }),
            nvml::kErrorNoPermission);
}

TEST(SimulatedNvmlTest, TellsLiveClientsThatTheDriverWent) {
  const SimulatedLibrary library(1);
  SKIP_WITHOUT_NODES(library);
  RunningServer server(library.root().path(), *SampleState(1));
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  const Device gpu = library.Gpu(0);
  uint32_t celsius = 0;
  server.Change([](SimState& state) { state.driver.is_loaded = 0; });
  EXPECT_EQ(library.Temperature(gpu, celsius), nvml::kErrorUnknown);
  server.Change([](SimState& state) {
    state.driver.is_loaded = 1;
    state.driver.version[0] = '6';
  });
  EXPECT_EQ(library.Temperature(gpu, celsius), nvml::kErrorLibRmVersionMismatch);
}

TEST(SimulatedNvmlTest, SurvivesInvalidHandlesAndPointers) {
  const SimulatedLibrary library(1);
  SKIP_WITHOUT_NODES(library);
  RunningServer server(library.root().path(), *SampleState(1));
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  uint32_t celsius = 0;
  char text[4] = {};
  EXPECT_EQ(library.Temperature(nullptr, celsius), nvml::kErrorInvalidArgument);
  EXPECT_EQ(library.Temperature(reinterpret_cast<Device>(&celsius), celsius),
            nvml::kErrorInvalidArgument);
  EXPECT_EQ(library.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetName", library.Gpu(0), text, 4U),
            nvml::kErrorInsufficientSize);
  EXPECT_EQ(library.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetName", library.Gpu(0),
                                                static_cast<char*>(nullptr), 4U),
            nvml::kErrorInvalidArgument);
}

}  // namespace
}  // namespace kgpu::sim
