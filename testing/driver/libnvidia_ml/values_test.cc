// What the library says of GPUs, and what faults do to it.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "testing/driver/libnvidia_ml/simulated_library.h"

namespace kgpu::sim {
namespace {

using nvml::Device;
using std::chrono::steady_clock;

// Starts a server with `count` GPUs and initialises the library.
class SimulatedGpuTest : public testing::Test {
 protected:
  void Start(uint32_t count) {
    server_.Change([count](SimState& state) { state = *SampleState(count); });
    if (!library_.has_nodes()) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
    ASSERT_EQ(library_.Init(), nvml::kSuccess);
    gpu_ = library_.Gpu(0);
    ASSERT_NE(gpu_, nullptr);
  }

  SimulatedLibrary library_{2};
  RunningServer server_{library_.root().path(), *SampleState(0)};
  Device gpu_ = nullptr;
};

TEST_F(SimulatedGpuTest, TellsNameUuidAndPciAddress) {
  Start(1);
  char text[96] = {};
  nvml::PciInfo pci{};
  EXPECT_EQ(library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetName", gpu_, text, 96U), 0);
  EXPECT_STREQ(text, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetUUID", gpu_, text, 96U), 0);
  EXPECT_STREQ(text, "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(library_.Call<nvml::DeviceGetPciInfoFn>("nvmlDeviceGetPciInfo_v3", gpu_, &pci), 0);
  EXPECT_STREQ(pci.bus_id, "00000000:01:00.0");
  EXPECT_STREQ(pci.bus_id_legacy, "0000:01:00.0");
  EXPECT_EQ(pci.pci_device_id, 0x20b210deU);
  EXPECT_EQ(pci.pci_sub_system_id, 0x147f10deU);
}

TEST_F(SimulatedGpuTest, TellsLimitsOfHeatByTheMarginFromAdaOn) {
  Start(1);
  const auto margin = [this](int32_t& celsius) {
    nvml::MarginTemperatureV1 value{.version = nvml::StructVersion<nvml::MarginTemperatureV1>(1),
                                    .celsius = 0};
    const nvml::Return result = library_.Call<nvml::DeviceGetMarginTemperatureFn>(
        "nvmlDeviceGetMarginTemperature", gpu_, &value);
    celsius = value.celsius;
    return result;
  };
  int32_t celsius = 0;
  EXPECT_EQ(margin(celsius), nvml::kErrorNotSupported);
  server_.Change([](SimState& state) {
    state.gpus[0].architecture = nvml::kArchAda;
    state.gpus[0].temperature.gpu = 70;
    state.gpus[0].temperature.gpu_max = 83;
    state.gpus[0].temperature.slowdown = 90;
  });
  EXPECT_EQ(margin(celsius), nvml::kSuccess);
  EXPECT_EQ(celsius, 13);
  nvml::FieldValue field{};
  field.field_id = nvml::kFieldSlowdownTLimit;
  EXPECT_EQ(
      library_.Call<nvml::DeviceGetFieldValuesFn>("nvmlDeviceGetFieldValues", gpu_, 1, &field),
      nvml::kSuccess);
  EXPECT_EQ(field.nvml_return, nvml::kSuccess);
  EXPECT_EQ(field.value_type, nvml::kValueSignedInt);
  EXPECT_EQ(field.value.signed_int, -7);
}

TEST_F(SimulatedGpuTest, LeavesTheEndOfTheOlderPciInfoAlone) {
  Start(1);
  nvml::PciInfo pci{};
  pci.bus_id[16] = 'x';
  EXPECT_EQ(
      (library_.Call<nvml::Return(Device, nvml::PciInfo*)>("nvmlDeviceGetPciInfo_v2", gpu_, &pci)),
      nvml::kSuccess);
  EXPECT_EQ(pci.bus_id[16], 'x');
  EXPECT_STREQ(pci.bus_id_legacy, "0000:01:00.0");
}

TEST_F(SimulatedGpuTest, FindsGpusByUuidAndPciAddress) {
  Start(2);
  using Find = nvml::Return(const char*, Device*);
  Device found = nullptr;
  EXPECT_EQ(library_.Call<Find>("nvmlDeviceGetHandleByUUID",
                                "GPU-00000000-0000-0000-0000-000000000001", &found),
            nvml::kSuccess);
  EXPECT_EQ(found, library_.Gpu(1));
  for (const char* address : {"00000000:02:00.0", "0000:02:00.0", "02:00.0"}) {
    found = nullptr;
    EXPECT_EQ(library_.Call<Find>("nvmlDeviceGetHandleByPciBusId_v2", address, &found),
              nvml::kSuccess);
    EXPECT_EQ(found, library_.Gpu(1)) << address;
  }
  EXPECT_EQ(library_.Call<Find>("nvmlDeviceGetHandleByUUID", "GPU-x", &found),
            nvml::kErrorNotFound);
  EXPECT_EQ(library_.Call<Find>("nvmlDeviceGetHandleByPciBusId_v2", "x", &found),
            nvml::kErrorInvalidArgument);
}

TEST_F(SimulatedGpuTest, CountsMemoryInBothWays) {
  Start(1);
  server_.Change([](SimState& state) {
    state.gpus[0].memory_used = 1 << 20;
    state.gpus[0].processes[0].pid = 42;
    state.gpus[0].processes[0].used_bytes = 1ULL << 30;
  });
  constexpr uint64_t kUsed = (1ULL << 30) + (1 << 20);
  constexpr uint64_t kReserved = 600ULL << 20;
  nvml::Memory memory{};
  EXPECT_EQ(library_.Call<nvml::DeviceGetMemoryInfoFn>("nvmlDeviceGetMemoryInfo", gpu_, &memory),
            nvml::kSuccess);
  EXPECT_EQ(memory.used, kUsed + kReserved);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  nvml::MemoryV2 newer{};
  auto get_newer = [&] {
    return library_.Call<nvml::DeviceGetMemoryInfoV2Fn>("nvmlDeviceGetMemoryInfo_v2", gpu_, &newer);
  };
  EXPECT_EQ(get_newer(), nvml::kErrorArgumentVersionMismatch);
  newer.version = nvml::kMemoryV2Version;
  EXPECT_EQ(get_newer(), nvml::kSuccess);
  EXPECT_EQ(newer.used, kUsed);
  EXPECT_EQ(newer.reserved, kReserved);
}

TEST_F(SimulatedGpuTest, ListsProcessesByKindAndSaysHowManyFit) {
  Start(1);
  server_.Change([](SimState& state) {
    state.gpus[0].processes[0] = {};
    state.gpus[0].processes[0].pid = 41;
    state.gpus[0].processes[2].pid = 42;
    state.gpus[0].processes[3].pid = 43;
    state.gpus[0].processes[3].kind = kGraphics;
  });
  using List = nvml::Return(Device, uint32_t*, nvml::ProcessInfo*);
  uint32_t count = 0;
  nvml::ProcessInfo infos[4] = {};
  constexpr char kName[] = "nvmlDeviceGetComputeRunningProcesses_v3";
  EXPECT_EQ(library_.Call<List>(kName, gpu_, &count, static_cast<nvml::ProcessInfo*>(nullptr)),
            nvml::kErrorInsufficientSize);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(library_.Call<List>(kName, gpu_, &count, &infos[0]), nvml::kSuccess);
  EXPECT_EQ(infos[1].pid, 42U);
}

TEST_F(SimulatedGpuTest, ListsNeedAPlaceForTheirLength) {
  Start(1);
  Device devices[2] = {};
  using Set = nvml::Return(uint32_t, uint32_t*, Device*);
  EXPECT_EQ(library_.Call<Set>("nvmlSystemGetTopologyGpuSet", 0U, static_cast<uint32_t*>(nullptr),
                               &devices[0]),
            nvml::kErrorInvalidArgument);
}

TEST_F(SimulatedGpuTest, SaysNotSupportedWhereTheModelLacksAValue) {
  Start(1);
  server_.Change([](SimState& state) {
    state.gpus[0].module_id = kUnsupported;
    state.gpus[0].temperature.memory = kUnsupported;
    state.gpus[0].power.energy_mj = kUnsupported64;
  });
  uint32_t value = 0;
  uint64_t energy = 0;
  nvml::FieldValue field{};
  field.field_id = 82;
  EXPECT_EQ(library_.Call<nvml::DeviceGetUintFn>("nvmlDeviceGetModuleId", gpu_, &value),
            nvml::kErrorNotSupported);
  EXPECT_EQ((library_.Call<nvml::Return(Device, uint64_t*)>("nvmlDeviceGetTotalEnergyConsumption",
                                                            gpu_, &energy)),
            nvml::kErrorNotSupported);
  EXPECT_EQ((library_.Call<nvml::Return(Device, int32_t, nvml::FieldValue*)>(
                "nvmlDeviceGetFieldValues", gpu_, 1, &field)),
            nvml::kSuccess);
  EXPECT_EQ(field.nvml_return, nvml::kErrorNotSupported);
}

TEST_F(SimulatedGpuTest, TellsWhatEveryLinkHasCarried) {
  Start(2);
  server_.Change([](SimState& state) { state.gpus[0].nvlinks[3].tx_kib = 77; });
  nvml::FieldValue fields[3] = {};
  fields[0].field_id = nvml::kFieldNvLinkDataTx;
  fields[0].scope_id = 3;
  fields[1].field_id = nvml::kFieldNvLinkDataRx;
  fields[1].scope_id = 0xffffffffU;
  fields[2].field_id = nvml::kFieldNvLinkDataTx;
  fields[2].scope_id = 12;
  ASSERT_EQ(
      library_.Call<nvml::DeviceGetFieldValuesFn>("nvmlDeviceGetFieldValues", gpu_, 3, &fields[0]),
      nvml::kSuccess);
  EXPECT_EQ(fields[0].value.ulong, 77U);
  EXPECT_EQ(fields[1].value.ulong, 12U * 2000 + 66);
  EXPECT_EQ(fields[2].nvml_return, nvml::kErrorInvalidArgument);
}

TEST_F(SimulatedGpuTest, DoesNotKnowFieldsOfNewerDrivers) {
  Start(1);
  const auto ask = [&](uint32_t id) {
    nvml::FieldValue field{};
    field.field_id = id;
    EXPECT_EQ(
        library_.Call<nvml::DeviceGetFieldValuesFn>("nvmlDeviceGetFieldValues", gpu_, 1, &field),
        nvml::kSuccess);
    return field;
  };
  EXPECT_EQ(ask(nvml::kFieldRecoveryAction).nvml_return, nvml::kErrorNotSupported);
  EXPECT_EQ(ask(nvml::kFieldPcieTxBytes).nvml_return, nvml::kErrorNotSupported);
}

namespace {

// Metrics between two samples that were just taken.
std::vector<nvml::GpmMetric> Metrics(const SimulatedLibrary& library, Device gpu,
                                     std::vector<uint32_t> ids) {
  nvml::GpmSample samples[2] = {};
  auto metrics = std::make_unique<nvml::GpmMetrics>();
  for (nvml::GpmSample& sample : samples) {
    EXPECT_EQ(library.Call<nvml::GpmSampleAllocFn>("nvmlGpmSampleAlloc", &sample), nvml::kSuccess);
    EXPECT_EQ(library.Call<nvml::GpmSampleGetFn>("nvmlGpmSampleGet", gpu, sample), nvml::kSuccess);
  }
  metrics->version = nvml::kGpmMetricsVersion;
  metrics->count = static_cast<uint32_t>(ids.size());
  metrics->older = samples[0];
  metrics->newer = samples[1];
  for (size_t i = 0; i < ids.size(); ++i) {
    metrics->metrics[i].id = ids[i];
  }
  EXPECT_EQ(library.Call<nvml::GpmMetricsGetFn>("nvmlGpmMetricsGet", metrics.get()),
            nvml::kSuccess);
  for (nvml::GpmSample sample : samples) {
    EXPECT_EQ(library.Call<nvml::GpmSampleFreeFn>("nvmlGpmSampleFree", sample), nvml::kSuccess);
  }
  return {metrics->metrics, metrics->metrics + ids.size()};
}

}  // namespace

TEST_F(SimulatedGpuTest, HasGpmMetricsFromHopperOn) {
  Start(1);
  nvml::GpmSupport support{.version = nvml::kGpmSupportVersion, .is_supported = 7};
  const auto ask = [&] {
    return library_.Call<nvml::GpmQueryDeviceSupportFn>("nvmlGpmQueryDeviceSupport", gpu_,
                                                        &support);
  };
  EXPECT_EQ(ask(), nvml::kSuccess);
  EXPECT_EQ(support.is_supported, 0U);
  server_.Change([](SimState& state) {
    SimGpu& gpu = state.gpus[0];
    gpu.utilization.gpu = 40;
    gpu.gpm = {.is_capable = 1,
               .graphics = kUnsupported,
               .sm = 75,
               .occupancy = kUnsupported,
               .tensor = 12,
               .fp64 = 0,
               .fp32 = 0,
               .fp16 = 0,
               .dram = 0,
               .padding = 0};
  });
  EXPECT_EQ(ask(), nvml::kSuccess);
  EXPECT_EQ(support.is_supported, 1U);
  const auto metrics = Metrics(library_, gpu_,
                               {nvml::kGpmGraphicsUtil, nvml::kGpmSmUtil, nvml::kGpmSmOccupancy,
                                nvml::kGpmAnyTensorUtil, 90});
  EXPECT_EQ(metrics[0].value, 40);
  EXPECT_EQ(metrics[1].value, 75);
  EXPECT_EQ(metrics[2].value, 20);
  EXPECT_EQ(metrics[3].value, 12);
  EXPECT_EQ(metrics[4].nvml_return, nvml::kErrorNotSupported);
}

TEST_F(SimulatedGpuTest, GpmNeedsTwoTakenSamplesOfOneGpu) {
  Start(1);
  server_.Change([](SimState& state) { state.gpus[0].gpm.is_capable = 1; });
  nvml::GpmSample sample = nullptr;
  ASSERT_EQ(library_.Call<nvml::GpmSampleAllocFn>("nvmlGpmSampleAlloc", &sample), nvml::kSuccess);
  auto metrics = std::make_unique<nvml::GpmMetrics>();
  metrics->version = nvml::kGpmMetricsVersion;
  metrics->older = metrics->newer = sample;
  const auto ask = [&] {
    return library_.Call<nvml::GpmMetricsGetFn>("nvmlGpmMetricsGet", metrics.get());
  };
  EXPECT_EQ(ask(), nvml::kErrorInvalidArgument);
  EXPECT_EQ(library_.Call<nvml::GpmMigSampleGetFn>("nvmlGpmMigSampleGet", gpu_, 3U, sample),
            nvml::kErrorInvalidArgument);
  EXPECT_EQ(library_.Call<nvml::GpmSampleGetFn>("nvmlGpmSampleGet", gpu_, sample), nvml::kSuccess);
  EXPECT_EQ(ask(), nvml::kErrorInvalidArgument);
  EXPECT_EQ(library_.Call<nvml::GpmSampleFreeFn>("nvmlGpmSampleFree", sample), nvml::kSuccess);
}

TEST_F(SimulatedGpuTest, ClientsOfMpsHaveNoUtilizationOfTheirOwn) {
  Start(1);
  server_.Change([](SimState& state) {
    state.gpus[0].processes[0].pid = 41;
    state.gpus[0].processes[0].kind = kCompute;
    state.gpus[0].processes[0].sm_util = 30;
    state.gpus[0].processes[1].pid = 42;
    state.gpus[0].processes[1].kind = kMps;
    state.gpus[0].processes[1].sm_util = 50;
  });
  nvml::ProcessUtilizationSample samples[4] = {};
  uint32_t count = 4;
  EXPECT_EQ(library_.Call<nvml::DeviceGetProcessUtilizationFn>(
                "nvmlDeviceGetProcessUtilization", gpu_, &samples[0], &count, uint64_t{0}),
            nvml::kSuccess);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(samples[0].pid, 41U);
}

TEST_F(SimulatedGpuTest, LosesOnlyTheLostGpu) {
  Start(2);
  const Device other = library_.Gpu(1);
  server_.Change([](SimState& state) { state.gpus[0].is_lost = 1; });
  uint32_t celsius = 0;
  Device found = nullptr;
  EXPECT_EQ(library_.Temperature(gpu_, celsius), nvml::kErrorGpuIsLost);
  EXPECT_EQ(
      library_.Call<nvml::DeviceGetHandleByIndexFn>("nvmlDeviceGetHandleByIndex_v2", 0U, &found),
      nvml::kErrorGpuIsLost);
  EXPECT_EQ(library_.Temperature(other, celsius), nvml::kSuccess);
  EXPECT_EQ(library_.Count(), 2U);
}

TEST_F(SimulatedGpuTest, HangsUntilHealed) {
  Start(2);
  server_.Change([](SimState& state) {
    state.gpus[0].knobs[0].is_set = 1;
    state.gpus[0].knobs[0].hang = 1;
  });
  std::atomic<bool> is_done = false;
  uint32_t celsius = 0;
  std::jthread caller([&] {
    uint32_t value = 0;
    EXPECT_EQ(library_.Temperature(gpu_, value), nvml::kSuccess);
    is_done = true;
  });
  // The other GPU answers a thousand times while the first hangs.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(library_.Temperature(library_.Gpu(1), celsius), nvml::kSuccess);
  }
  EXPECT_FALSE(is_done);
  server_.Change([](SimState& state) { state.gpus[0].knobs[0] = {}; });
  caller.join();
  EXPECT_TRUE(is_done);
}

TEST_F(SimulatedGpuTest, SlowsTheNamedFunctionOnly) {
  Start(1);
  server_.Change([](SimState& state) {
    state.knobs[0].is_set = 1;
    state.knobs[0].slow_ns = 30'000'000;
    (void)snprintf(state.knobs[0].function, sizeof(state.knobs[0].function), "%s",
                   "nvmlDeviceGetMemoryInfo");
  });
  nvml::MemoryV2 memory{};
  memory.version = nvml::kMemoryV2Version;
  const auto start = steady_clock::now();
  EXPECT_EQ(
      library_.Call<nvml::DeviceGetMemoryInfoV2Fn>("nvmlDeviceGetMemoryInfo_v2", gpu_, &memory),
      nvml::kSuccess);
  EXPECT_GE(steady_clock::now() - start, std::chrono::milliseconds(30));
  uint32_t celsius = 0;
  EXPECT_EQ(library_.Temperature(gpu_, celsius), nvml::kSuccess);
}

TEST_F(SimulatedGpuTest, RefusesTheNamedFunctionOnly) {
  Start(2);
  const auto refuse = [this](const char* function, uint32_t code) {
    server_.Change([&](SimState& state) {
      state.gpus[0].knobs[0].is_set = 1;
      state.gpus[0].knobs[0].refusal = code;
      (void)snprintf(state.gpus[0].knobs[0].function, sizeof(state.gpus[0].knobs[0].function), "%s",
                     function);
    });
  };
  refuse("nvmlDeviceGetMemoryInfo", 3);
  nvml::Memory memory{};
  EXPECT_EQ(library_.Call<nvml::DeviceGetMemoryInfoFn>("nvmlDeviceGetMemoryInfo", gpu_, &memory),
            nvml::kErrorNotSupported);
  uint32_t celsius = 0;
  EXPECT_EQ(library_.Temperature(gpu_, celsius), nvml::kSuccess);
  refuse("nvmlDeviceGetHandleByIndex", 4);
  nvml::Device device = nullptr;
  const auto handle = [&](uint32_t index) {
    return library_.Call<nvml::DeviceGetHandleByIndexFn>("nvmlDeviceGetHandleByIndex_v2", index,
                                                         &device);
  };
  EXPECT_EQ(handle(0), nvml::kErrorNoPermission);
  EXPECT_EQ(handle(1), nvml::kSuccess);
}

// Total and reserved always change together: a torn read would see one without the other.
TEST_F(SimulatedGpuTest, ReadsAreNeverTorn) {
  Start(1);
  const auto grow = [this](uint64_t size) {
    server_.Change([size](SimState& state) {
      state.gpus[0].memory_total = size * 160;
      state.gpus[0].memory_reserved = size;
    });
  };
  grow(1);
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> reads = 0;
  std::vector<std::jthread> readers;
  readers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      while (!is_over) {
        nvml::MemoryV2 memory{};
        memory.version = nvml::kMemoryV2Version;
        ASSERT_EQ(library_.Call<nvml::DeviceGetMemoryInfoV2Fn>("nvmlDeviceGetMemoryInfo_v2", gpu_,
                                                               &memory),
                  nvml::kSuccess);
        ASSERT_EQ(memory.total, 80 * memory.reserved * 2);
        ++reads;
      }
    });
  }
  for (uint64_t i = 2; i < 150; ++i) {
    grow(i);
  }
  while (reads < 100 && !HasFailure()) {
    std::this_thread::yield();
  }
  is_over = true;
}

TEST_F(SimulatedGpuTest, ListsMigDevicesWhoseNodesAreThere) {
  Start(1);
  server_.Change([](SimState& state) {
    SimMig& mig = state.gpus[0].mig;
    mig.is_capable = mig.mode = mig.pending_mode = 1;
    mig.compute_slice_count = 7;
    mig.profile_count = 1;
    mig.profiles[0].id = 9;
    mig.profiles[0].compute_slices = 3;
    mig.profiles[0].multiprocessors = 42;
    mig.profiles[0].memory_mib = 40192;
    (void)snprintf(mig.profiles[0].name, sizeof(mig.profiles[0].name), "3g.40gb");
    for (uint32_t gi : {1U, 2U}) {
      mig.instances[gi].exists = 1;
      mig.instances[gi].id = gi;
      mig.instances[gi].profile_id = 9;
      mig.instances[gi].cap_minor = GpuInstanceCapMinor(0, gi);
      SimComputeInstance& compute = mig.instances[gi].compute_instances[0];
      compute.exists = 1;
      compute.compute_slices = 3;
      compute.cap_minor = ComputeInstanceCapMinor(0, gi, 0);
      (void)snprintf(compute.uuid, sizeof(compute.uuid), "MIG-%u", gi);
    }
  });
  auto by_index = [&](uint32_t index, Device& device) {
    return library_.Call<nvml::DeviceGetMigDeviceHandleByIndexFn>(
        "nvmlDeviceGetMigDeviceHandleByIndex", gpu_, index, &device);
  };
  Device device = nullptr;
  EXPECT_EQ(by_index(0, device), nvml::kErrorNotFound);
  for (uint32_t minor : {GpuInstanceCapMinor(0, 2), ComputeInstanceCapMinor(0, 2, 0)}) {
    ASSERT_TRUE(library_.root().MakeCharDevice("dev/nvidia-caps/nvidia-cap" + std::to_string(minor),
                                               511, minor));
  }
  ASSERT_EQ(by_index(0, device), nvml::kSuccess);
  EXPECT_EQ(by_index(1, device), nvml::kErrorNotFound);
  char text[96] = {};
  nvml::DeviceAttributes attributes{};
  uint32_t minor = 0;
  EXPECT_EQ(library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetUUID", device, text, 96U), 0);
  EXPECT_STREQ(text, "MIG-2");
  EXPECT_EQ(library_.Call<nvml::DeviceGetTextFn>("nvmlDeviceGetName", device, text, 96U), 0);
  EXPECT_STREQ(text, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
  EXPECT_EQ(
      library_.Call<nvml::DeviceGetAttributesFn>("nvmlDeviceGetAttributes_v2", device, &attributes),
      nvml::kSuccess);
  EXPECT_EQ(attributes.multiprocessor_count, 42U);
  EXPECT_EQ(attributes.memory_size_mb, 40192U);
  EXPECT_EQ(library_.Call<nvml::DeviceGetUintFn>("nvmlDeviceGetMinorNumber", device, &minor),
            nvml::kErrorNotSupported);
}

}  // namespace
}  // namespace kgpu::sim
