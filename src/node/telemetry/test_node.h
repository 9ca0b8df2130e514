// A node with all input of pages, for tests and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/node/telemetry/page_input.h"

namespace kgpu::telemetry {

inline device::GpuUuid TestGpuUuid(unsigned index) {
  return device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-4000-8000-0000000000{:02x}", index))
      .value();
}
inline device::MigUuid TestMigUuid(unsigned gpu, unsigned index) {
  return device::MigUuid::Parse(
             fmt::format("MIG-00000000-0000-4000-8000-00000000{:02x}{:02x}", gpu, index))
      .value();
}

inline device::Gpu TestGpu(unsigned index) {
  device::Gpu gpu;
  gpu.uuid = TestGpuUuid(index);
  gpu.index = index;
  gpu.minor = index;
  gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(7 + index), .device = 0, .function = 0};
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.model = "H100-80GB-HBM3";
  gpu.architecture = "hopper";
  gpu.vbios = "96.00.74.00.01";
  gpu.memory = GibiBytes(80);
  return gpu;
}

inline device::ProfilingSample TestProfiling() {
  return {.graphics_active = 0.5,
          .sm_active = 0.4,
          .sm_occupancy = 0.3,
          .tensor_active = 0.2,
          .fp64_active = 0,
          .fp32_active = 0.1,
          .fp16_active = 0.15,
          .dram_active = 0.25,
          .pcie_sent_bytes_per_second = 1e9,
          .pcie_received_bytes_per_second = 2e9,
          .nvlink_sent_bytes_per_second = 3e9,
          .nvlink_received_bytes_per_second = 4e9};
}

inline device::MemoryUse TestMemory(uint64_t total_gib, uint64_t used_gib) {
  return {.total = GibiBytes(total_gib),
          .reserved = GibiBytes(1),
          .used = GibiBytes(used_gib),
          .free = GibiBytes(total_gib - used_gib - 1)};
}

// Every field has a value.
inline device::GpuSample TestSample(unsigned index) {
  device::GpuSample sample;
  sample.uuid = TestGpuUuid(index);
  sample.utilization = {
      .gpu = 87, .duty_cycle = 85.5, .memory = 7, .encoder = 3, .decoder = 4, .jpeg = 5, .ofa = 6};
  sample.memory = TestMemory(80, 40);
  sample.bar1_total = GibiBytes(128);
  sample.bar1_used = MebiBytes(3);
  sample.temperatures = {
      .gpu = 61, .memory = 70, .slowdown = 87, .shutdown = 92, .gpu_max = 85, .memory_max = 95};
  sample.power = {.watts = 512.25, .limit_watts = 700, .energy_millijoules = 123'456'789};
  sample.clocks = {.graphics = 1980,
                   .sm = 1980,
                   .memory = 2619,
                   .video = 1545,
                   .max_sm = 1980,
                   .max_memory = 2619};
  sample.throttle_reasons = 0x44;
  sample.power_violation_ns = 1'500'000'000;
  sample.thermal_violation_ns = 0;
  sample.ecc = {.volatile_corrected = 1,
                .volatile_uncorrected = 0,
                .aggregate_corrected = 12,
                .aggregate_uncorrected = 2};
  sample.remaps = device::RowRemaps{.corrected = 1,
                                    .uncorrected = 2,
                                    .is_pending = true,
                                    .has_failed = false,
                                    .spare_rows = std::vector<unsigned>{640, 1, 0, 0, 0}};
  sample.retired = device::RetiredPages{.single_bit = 3, .double_bit = 1, .is_pending = false};
  sample.pcie = {.generation = 5,
                 .max_generation = 5,
                 .width = 16,
                 .max_width = 16,
                 .replays = 9,
                 .sent_bytes_per_second = 1'000'000,
                 .received_bytes_per_second = 2'000'000};
  for (unsigned link = 0; link < 18; ++link) {
    sample.nvlinks.push_back({.link = link,
                              .is_active = true,
                              .replay_errors = 0,
                              .recovery_errors = 0,
                              .crc_flit_errors = 1,
                              .crc_data_errors = 0,
                              .sent_bytes = 1'000'000'000,
                              .received_bytes = 2'000'000'000});
  }
  sample.fans = {30, 31};
  sample.performance_state = 0;
  sample.fabric_state = 3;
  sample.recovery_action = 0;
  sample.profiling = TestProfiling();
  return sample;
}

inline pods::Container TestContainer(unsigned pod) {
  return {.pod_namespace = fmt::format("team-{}", pod % 8),
          .pod = fmt::format("trainer-{}-7d9f8b6c5d-x{:04}", pod % 16, pod),
          .container = "worker",
          .pod_uid = ""};
}

inline device::ProcessSample TestProcess(unsigned pid, uint64_t memory_mib, double sm) {
  return {.pid = pid,
          .kind = device::ProcessKind::kCompute,
          .memory = MebiBytes(memory_mib),
          .gpu_instance = {},
          .compute_instance = {},
          .sm = sm,
          .memory_utilization = 2,
          .encoder = 0,
          .decoder = 0};
}

inline WallTime TestTime() {
  return WallTime(std::chrono::seconds(1'700'000'000));
}

// `gpus` GPUs, and `pods` pods that share them by time, each with one process. PIDs start at
// 1000.
inline PageInput TestNode(unsigned gpus, unsigned pods) {
  auto snapshot = std::make_shared<device::Snapshot>();
  auto samples = std::make_shared<device::SampleSet>();
  auto map = std::make_shared<pods::PodMap>();
  snapshot->driver.state = device::DriverState::kReady;
  snapshot->driver.version = "550.54.15";
  snapshot->driver.nvml_version = "12.550.54.15";
  snapshot->driver.cuda_major = 12;
  snapshot->driver.cuda_minor = 4;
  samples->version = 1;
  samples->taken = TestTime();
  for (unsigned i = 0; i < gpus; ++i) {
    snapshot->gpus.push_back(TestGpu(i));
    samples->gpus.push_back(TestSample(i));
  }
  for (unsigned pod = 0; pod < pods; ++pod) {
    const unsigned gpu = pod % gpus;
    const pods::Container user = TestContainer(pod);
    map->devices.push_back({.resource = "nvidia.com/gpu.shared",
                            .device_id = fmt::format("{}::{}", TestGpuUuid(gpu).str(), pod / gpus),
                            .user = user});
    samples->gpus[gpu].processes.push_back(TestProcess(1000 + pod, 512 + pod, 5));
    map->processes[1000 + pod] = user;
  }
  return {.snapshot = std::move(snapshot),
          .samples = std::move(samples),
          .previous = nullptr,
          .pods = std::move(map),
          .health = nullptr,
          .usage = nullptr,
          .hostname = "gpu-node-17"};
}

}  // namespace kgpu::telemetry
