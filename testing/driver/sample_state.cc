#include "testing/driver/sample_state.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "src/gpu/nvml/abi.h"
#include "testing/driver/faults.h"

namespace kgpu::sim {

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

template <size_t N>
void Put(char (&field)[N], std::string_view text) {
  // The texts are ours and fit.
  (void)SetText(field, N, "sample", text);
}

SimMigProfile Profile(uint32_t index, uint32_t id, uint32_t compute, uint32_t memory,
                      uint32_t count, uint32_t sms, uint64_t mib, std::string_view name,
                      std::initializer_list<uint32_t> starts) {
  SimMigProfile profile = {};
  profile.index = index;
  profile.id = id;
  profile.compute_slices = compute;
  profile.memory_slices = memory;
  profile.max_instances = count;
  profile.multiprocessors = sms;
  profile.copy_engines = compute;
  profile.memory_mib = mib;
  for (const uint32_t start : starts) {
    profile.placements[profile.placement_count++] = start;
  }
  Put(profile.name, name);
  return profile;
}

void FillMig(SimMig& mig) {
  const SimMigProfile profiles[] = {
      Profile(0, 19, 1, 1, 7, 14, 9856, "1g.10gb", {0, 1, 2, 3, 4, 5, 6}),
      Profile(7, 20, 1, 1, 1, 14, 9856, "1g.10gb+me", {0, 1, 2, 3, 4, 5, 6}),
      Profile(9, 15, 1, 2, 4, 14, 19968, "1g.20gb", {0, 2, 4, 6}),
      Profile(1, 14, 2, 2, 3, 28, 19968, "2g.20gb", {0, 2, 4}),
      Profile(2, 9, 3, 4, 2, 42, 40192, "3g.40gb", {0, 4}),
      Profile(3, 5, 4, 4, 1, 56, 40192, "4g.40gb", {0}),
      Profile(4, 0, 7, 8, 1, 98, 80384, "7g.80gb", {0}),
  };
  mig.is_capable = 1;
  mig.needs_reset = 1;
  mig.memory_slice_count = 8;
  mig.compute_slice_count = 7;
  mig.profile_count = std::size(profiles);
  std::copy(std::begin(profiles), std::end(profiles), mig.profiles);
  mig.profiles[1].has_media_extensions = 1;
}

void FillLimits(SimGpu& gpu) {
  gpu.power = {.usage = 62000,
               .limit = 400000,
               .default_limit = 400000,
               .minimum_limit = 100000,
               .maximum_limit = 400000,
               .is_management_capable = 1,
               .energy_mj = 5000000};
  gpu.clocks = {.current = {210, 210, 1593, 585},
                .maximum = {1410, 1410, 1593, 1290},
                .application = {1275, 1275, 1593, kUnsupported},
                .default_application = {1275, 1275, 1593, kUnsupported},
                .supported_memory = {1593, 0, 0, 0},
                .supported_graphics_min = 210,
                .supported_graphics_step = 15};
  gpu.temperature = {.gpu = 31,
                     .memory = 30,
                     .shutdown = 92,
                     .slowdown = 89,
                     .memory_max = 95,
                     .gpu_max = 85,
                     .has_no_thresholds = 0,
                     .padding = 0};
  gpu.pcie = {.generation = 4,
              .generation_max = 4,
              .generation_gpu_max = 4,
              .width = 16,
              .width_max = 16,
              .replay_counter = 0,
              .tx_kib_s = 100,
              .rx_kib_s = 200,
              .tx_bytes = 0,
              .rx_bytes = 0};
  gpu.ecc.is_capable = gpu.ecc.mode = gpu.ecc.pending_mode = gpu.ecc.default_mode = 1;
  gpu.remap.is_capable = 1;
  gpu.remap.histogram[0] = 640;
  gpu.supported_throttle_reasons = 0x1ff;
  gpu.supported_events = nvml::kEventSingleBitEcc | nvml::kEventDoubleBitEcc |
                         nvml::kEventXidCritical | nvml::kEventClock | nvml::kEventMigConfig;
}

SimGpu SampleGpu(uint32_t index) {
  SimGpu gpu = {};
  gpu.is_present = 1;
  gpu.incarnation = 1;
  gpu.minor = index;
  Put(gpu.uuid, fmt::format("GPU-00000000-0000-0000-0000-{:012x}", index));
  Put(gpu.name, "NVIDIA A100-SXM4-80GB");
  Put(gpu.serial, fmt::format("16526221{:05}", index));
  Put(gpu.board_part_number, "692-2G506-0212-002");
  Put(gpu.vbios, "92.00.45.00.03");
  Put(gpu.inforom_image, "G506.0212.00.02");
  gpu.pci = {.domain = 0,
             .bus = index + 1,
             .device = 0,
             .function = 0,
             .vendor_id = 0x10de,
             .device_id = 0x20b2,
             .subsystem_vendor = 0x10de,
             .subsystem_device = 0x147f,
             .class_code = 0x030200,
             .revision = 0xa1};
  gpu.brand = nvml::kBrandNvidia;
  gpu.architecture = nvml::kArchAmpere;
  gpu.cc_major = 8;
  gpu.cuda_cores = 6912;
  gpu.multiprocessors = 108;
  gpu.memory_bus_width = 5120;
  gpu.module_id = index;
  gpu.bus_type = 2;
  gpu.memory_total = 80 * kGiB;
  gpu.memory_reserved = 600 << 20;
  gpu.bar1_total = 128 * kGiB;
  gpu.bar1_used = 1 << 20;
  FillLimits(gpu);
  gpu.numa_node = static_cast<int32_t>(index / 4);
  gpu.cpu_mask[0] = index < 4 ? 0xff : 0xff00;
  gpu.fabric_state = kUnsupported;
  FillMig(gpu.mig);
  return gpu;
}

// Twelve links from each of two GPUs to the other.
void Join(SimState& state) {
  for (uint32_t slot = 0; slot < 2; ++slot) {
    SimGpu& gpu = state.gpus[slot];
    gpu.nvlink_count = 12;
    for (uint32_t link = 0; link < 12; ++link) {
      SimNvLink& end = gpu.nvlinks[link];
      end.exists = end.is_active = 1;
      end.version = 3;
      end.remote_type = kRemoteGpu;
      end.remote = state.gpus[1 - slot].pci;
      end.remote_link = link;
      end.speed_mbps = 25000;
      end.tx_kib = 1000 + link;
      end.rx_kib = 2000 + link;
    }
  }
}

}  // namespace

std::unique_ptr<SimState> SampleState(uint32_t gpus) {
  auto state = NewState();
  Put(state->driver.version, "535.261.03");
  Put(state->driver.library_version, "535.261.03");
  Put(state->profile, "sample");
  for (uint32_t index = 0; index < gpus; ++index) {
    SimGpu gpu = SampleGpu(index);
    for (uint32_t other = 0; other < kMaxGpus; ++other) {
      gpu.topology[other] = other == index ? nvml::kTopologyInternal : nvml::kTopologyNode;
    }
    (void)AddGpu(*state, gpu);
  }
  if (gpus == 2) {
    Join(*state);
  }
  return state;
}

}  // namespace kgpu::sim
