// The simulated library on the real state server: what `kgpu-sim` and an NVML client see of each
// other. The library alone is tested beside its sources, the server in server_test.cc.
#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "testing/driver/control.h"
#include "testing/driver/libnvidia_ml/simulated_library.h"
#include "testing/driver/mig.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr unsigned kMajorWithoutDriver = 511;
constexpr uint32_t kLongMs = 10000;

class LibraryOnServerTest : public ::testing::Test {
 protected:
  LibraryOnServerTest() : library_(2) {
    server_ = std::make_unique<RunningServer>(root(), *SampleState(2));
  }
  void SetUp() override {
    if (!library_.has_nodes()) {
      GTEST_SKIP() << "cannot create device nodes here";
    }
    ASSERT_EQ(library_.Init(), nvml::kSuccess);
  }

  const std::string& root() const { return library_.root().path(); }
  StatusOr<std::string> Command(std::string_view line) const {
    auto control = ControlClient::Connect(root());
    if (!control.ok()) {
      return control.status();
    }
    return control->Run(line);
  }
  nvml::Return Temperature(uint32_t index, uint32_t& celsius) const {
    return library_.Temperature(library_.Gpu(index), celsius);
  }
  // A set that waits for XIDs of GPU `index`.
  nvml::EventSet XidsOf(uint32_t index) const {
    nvml::EventSet set = nullptr;
    EXPECT_EQ(library_.Call<nvml::EventSetCreateFn>("nvmlEventSetCreate", &set), nvml::kSuccess);
    EXPECT_EQ(library_.Call<nvml::DeviceRegisterEventsFn>(
                  "nvmlDeviceRegisterEvents", library_.Gpu(index), nvml::kEventXidCritical, set),
              nvml::kSuccess);
    return set;
  }
  nvml::Return Wait(nvml::EventSet set, nvml::EventData& event, uint32_t limit_ms) const {
    return library_.Call<nvml::EventSetWaitFn>("nvmlEventSetWait_v2", set, &event, limit_ms);
  }

  SimulatedLibrary library_;
  std::unique_ptr<RunningServer> server_;
};

TEST_F(LibraryOnServerTest, SeesWhatCommandsChange) {
  EXPECT_EQ(library_.Count(), 2U);
  const nvml::Device gpu = library_.Gpu(0);
  ASSERT_OK(Command("temp 0 63"));
  uint32_t celsius = 0;
  ASSERT_EQ(library_.Temperature(gpu, celsius), nvml::kSuccess);
  EXPECT_EQ(celsius, 63U);
}

TEST_F(LibraryOnServerTest, IsListedAsAClient) {
  EXPECT_THAT(Command("clients"), IsOkAndHolds(HasSubstr(std::to_string(getpid()))));
}

TEST_F(LibraryOnServerTest, DeliversXidsOfRegisteredGpus) {
  const nvml::EventSet set = XidsOf(1);
  nvml::EventData event = {};
  EXPECT_EQ(Wait(set, event, 1), nvml::kErrorTimeout);
  ASSERT_OK(Command("xid 0 31"));
  ASSERT_OK(Command("xid 1 48"));
  ASSERT_EQ(Wait(set, event, kLongMs), nvml::kSuccess);
  EXPECT_EQ(event.event_data, 48U);
  EXPECT_EQ(event.device, library_.Gpu(1));
  EXPECT_EQ(event.gpu_instance_id, nvml::kNoInstance);
  EXPECT_EQ(library_.Call<nvml::EventSetFreeFn>("nvmlEventSetFree", set), nvml::kSuccess);
}

TEST_F(LibraryOnServerTest, LosesAndFindsAGpu) {
  const nvml::Device gpu = library_.Gpu(0);
  ASSERT_OK(Command("lose 0"));
  uint32_t celsius = 0;
  EXPECT_EQ(library_.Temperature(gpu, celsius), nvml::kErrorGpuIsLost);
  EXPECT_EQ(Temperature(1, celsius), nvml::kSuccess);
  ASSERT_OK(Command("heal 0"));
  EXPECT_EQ(library_.Temperature(gpu, celsius), nvml::kSuccess);
}

TEST_F(LibraryOnServerTest, HangsUntilHealed) {
  const nvml::Device gpu = library_.Gpu(0);
  ASSERT_OK(Command("hang 0 nvmlDeviceGetTemperature"));
  uint32_t celsius = 0;
  std::thread caller([&] { EXPECT_EQ(library_.Temperature(gpu, celsius), nvml::kSuccess); });
  char name[96] = {};
  EXPECT_EQ(library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetName", gpu, name, 96U),
            nvml::kSuccess)
      << "only the one function hangs";
  EXPECT_OK(Command("heal 0"));
  caller.join();
  EXPECT_EQ(celsius, 31U);
}

TEST_F(LibraryOnServerTest, FollowsUnloadingAndLoading) {
  const nvml::Device gpu = library_.Gpu(0);
  ASSERT_OK(Command("unload"));
  uint32_t celsius = 0;
  EXPECT_NE(library_.Temperature(gpu, celsius), nvml::kSuccess);
  library_.Shutdown();
  EXPECT_EQ(library_.Init(), nvml::kErrorDriverNotLoaded);
  ASSERT_OK(Command("load 550.54.15"));
  EXPECT_EQ(library_.Init(), nvml::kErrorLibRmVersionMismatch);
  ASSERT_OK(Command("unload"));
  ASSERT_OK(Command("load 535.261.03"));
  EXPECT_EQ(library_.Init(), nvml::kSuccess);
}

TEST_F(LibraryOnServerTest, FindsAddedGpusAtTheNextInit) {
  ASSERT_OK(Command("add"));
  ASSERT_TRUE(library_.root().MakeCharDevice("dev/nvidia2", kMajorWithoutDriver, 2));
  library_.Shutdown();
  ASSERT_EQ(library_.Init(), nvml::kSuccess);
  EXPECT_EQ(library_.Count(), 3U);
  ASSERT_OK(Command("remove 2"));
  library_.Shutdown();
  ASSERT_EQ(library_.Init(), nvml::kSuccess);
  EXPECT_EQ(library_.Count(), 2U);
}

TEST_F(LibraryOnServerTest, ShowsMigDevicesByTheirNodes) {
  ASSERT_OK(Command("mig-mode 0 on"));
  ASSERT_OK(Command("heal 0"));
  ASSERT_THAT(Command("mig-create 0 3g.40gb 0"), IsOkAndHolds(StartsWith("gi 1 ci 0")));
  nvml::Device mig = nullptr;
  const auto handle = [&] {
    return library_.Call<nvml::DeviceGetMigDeviceHandleByIndexFn>(
        "nvmlDeviceGetMigDeviceHandleByIndex", library_.Gpu(0), 0U, &mig);
  };
  EXPECT_EQ(handle(), nvml::kErrorNotFound);
  for (const uint32_t minor : {GpuInstanceCapMinor(0, 1), ComputeInstanceCapMinor(0, 1, 0)}) {
    ASSERT_TRUE(library_.root().MakeCharDevice("dev/nvidia-caps/nvidia-cap" + std::to_string(minor),
                                               kMajorWithoutDriver, minor));
  }
  ASSERT_EQ(handle(), nvml::kSuccess);
  char uuid[nvml::kUuidV2Size] = {};
  ASSERT_EQ(
      library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetUUID", mig, uuid, uint32_t{sizeof(uuid)}),
      nvml::kSuccess);
  EXPECT_THAT(std::string(uuid), StartsWith("MIG-"));
  nvml::DeviceAttributes attributes = {};
  ASSERT_EQ(
      library_.Call<nvml::DeviceGetAttributesFn>("nvmlDeviceGetAttributes_v2", mig, &attributes),
      nvml::kSuccess);
  EXPECT_EQ(attributes.multiprocessor_count, 42U);
  EXPECT_EQ(attributes.memory_size_mb, 40192U);
}

TEST_F(LibraryOnServerTest, LivesThroughARestartOfTheServer) {
  const nvml::Device gpu = library_.Gpu(0);
  server_.reset();
  uint32_t celsius = 0;
  EXPECT_NE(library_.Temperature(gpu, celsius), nvml::kSuccess);
  server_ = std::make_unique<RunningServer>(root());
  ASSERT_OK(Command("temp 0 77"));
  library_.Shutdown();
  ASSERT_EQ(library_.Init(), nvml::kSuccess);
  ASSERT_EQ(Temperature(0, celsius), nvml::kSuccess);
  EXPECT_EQ(celsius, 77U);
}

}  // namespace
}  // namespace kgpu::sim
