#include "testing/simhost/gpu_state.h"

#include <array>
#include <utility>

#include "src/gpu/nvml/abi.h"
#include "testing/simhost/cpu_list.h"

namespace kgpu::simhost {
namespace {

using sim::kUnsupported;
using sim::kUnsupported64;

constexpr uint64_t kMebi = uint64_t{1} << 20;

// NVML_BRAND_*. Source: nvml.h.
uint32_t BrandCode(std::string_view brand) {
  constexpr std::array<std::pair<std::string_view, uint32_t>, 5> kBrands = {
      {{"Quadro", 1}, {"Tesla", 2}, {"GeForce", 5}, {"Titan", 6}, {"NVIDIA", 14}}};
  for (const auto& [word, code] : kBrands) {
    if (word == brand) {
      return code;
    }
  }
  return 0;
}

// NVML_DEVICE_ARCH_*. Source: nvml.h.
uint32_t ArchitectureCode(std::string_view architecture) {
  constexpr std::array<std::string_view, 9> kFromKepler = {
      "kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"};
  const auto found = std::ranges::find(kFromKepler, architecture);
  return found == kFromKepler.end() ? kUnsupported
                                    : static_cast<uint32_t>(found - kFromKepler.begin()) + 2;
}

constexpr uint32_t kTuringCode = 6;

// Lowest first, so that comparing architectures by code works for the rules below.
bool IsAmpereOrNewer(const sim::SimGpu& gpu) {
  return gpu.architecture != kUnsupported && gpu.architecture > kTuringCode;
}

bool IsHopperOrNewer(const sim::SimGpu& gpu) {
  return gpu.architecture != kUnsupported && gpu.architecture >= nvml::kArchHopper;
}

void FillPci(const GpuModel& model, const GpuPlace& place, sim::SimGpu& gpu) {
  gpu.pci.domain = place.pci.domain;
  gpu.pci.bus = place.pci.bus;
  gpu.pci.device = place.pci.device;
  gpu.pci.function = place.pci.function;
  gpu.pci.vendor_id = 0x10de;
  gpu.pci.device_id = model.pci_device;
  gpu.pci.subsystem_vendor = model.pci_subsystem_vendor;
  gpu.pci.subsystem_device = model.pci_subsystem_device;
  gpu.pci.class_code = model.is_vga ? 0x030000 : 0x030200;
  gpu.pci.revision = 0xa1;
  gpu.bus_type = 2;
  gpu.pcie.generation = gpu.pcie.generation_max = gpu.pcie.generation_gpu_max =
      model.pcie_generation;
  gpu.pcie.width = gpu.pcie.width_max = model.pcie_width;
  const bool has_throughput = !model.Lacks(Feature::kPcieThroughput);
  gpu.pcie.tx_kib_s = gpu.pcie.rx_kib_s = has_throughput ? 0 : kUnsupported;
}

void FillPower(const GpuModel& model, sim::SimPower& power) {
  const bool has_limits = !model.Lacks(Feature::kPowerLimits);
  const auto limit = [has_limits](unsigned watts) {
    return has_limits ? watts * 1000 : kUnsupported;
  };
  // An idle GPU draws about a seventh of its limit.
  power.usage = model.Lacks(Feature::kPower) ? kUnsupported : model.power.default_watts * 1000 / 7;
  power.limit = power.default_limit = limit(model.power.default_watts);
  power.minimum_limit = limit(model.power.least_watts);
  power.maximum_limit = limit(model.power.most_watts);
  power.is_management_capable = has_limits ? 1 : 0;
  power.energy_mj = model.Lacks(Feature::kEnergy) ? kUnsupported64 : 0;
}

void FillClocks(const GpuModel& model, sim::SimClocks& clocks) {
  const std::array<unsigned, 4> maximum = {model.clocks.graphics, model.clocks.graphics,
                                           model.clocks.memory, model.clocks.video};
  const bool is_supported = !model.Lacks(Feature::kClocks);
  for (size_t i = 0; i < maximum.size(); ++i) {
    const unsigned idle = i == 2 ? maximum[i] : std::min(maximum[i], 345U);
    clocks.maximum[i] = is_supported ? maximum[i] : kUnsupported;
    clocks.current[i] = is_supported ? idle : kUnsupported;
    clocks.application[i] = clocks.default_application[i] = clocks.maximum[i];
  }
  clocks.supported_memory[0] = is_supported ? model.clocks.memory : 0;
  clocks.supported_graphics_min = 210;
  clocks.supported_graphics_step = 15;
}

void FillHeat(const GpuModel& model, sim::SimGpu& gpu) {
  const bool has_memory_sensor = !model.Lacks(Feature::kMemoryTemperature);
  gpu.temperature.gpu = 31;
  gpu.temperature.memory = has_memory_sensor ? 38 : kUnsupported;
  gpu.temperature.memory_max = has_memory_sensor ? 95 : kUnsupported;
  gpu.temperature.slowdown = model.slowdown_celsius;
  gpu.temperature.shutdown = model.shutdown_celsius;
  gpu.temperature.gpu_max = model.slowdown_celsius - 7;
  gpu.fan_count = model.Lacks(Feature::kFan) ? 0 : 1;
  gpu.fan_percent = model.Lacks(Feature::kFan) ? kUnsupported : 34;
}

void FillMemoryErrors(const GpuModel& model, sim::SimGpu& gpu) {
  const bool has_ecc = !model.Lacks(Feature::kEcc);
  gpu.ecc.is_capable = has_ecc ? 1 : 0;
  gpu.ecc.mode = gpu.ecc.pending_mode = gpu.ecc.default_mode = gpu.ecc.is_capable;
  const bool remaps = has_ecc && IsAmpereOrNewer(gpu) && !model.Lacks(Feature::kRemappedRows);
  gpu.remap.is_capable = remaps ? 1 : 0;
  if (remaps) {
    gpu.remap.histogram[0] = model.bus_width_bits / 8;
  }
  gpu.retirement_is_capable = has_ecc && !IsAmpereOrNewer(gpu) ? 1 : 0;
}

void FillUse(const GpuModel& model, sim::SimUtilization& utilization) {
  const uint32_t engines = model.Lacks(Feature::kUtilization) ? kUnsupported : 0;
  utilization.gpu = utilization.memory = engines;
  utilization.encoder = utilization.decoder = model.Lacks(Feature::kEncoder) ? kUnsupported : 0;
  // JPEG and optical flow engines came with Turing and Ampere data-centre GPUs.
  utilization.jpeg = utilization.ofa = model.mig_profiles.empty() ? kUnsupported : 0;
}

void FillMig(const GpuModel& model, sim::SimMig& mig) {
  if (model.mig_profiles.empty()) {
    return;
  }
  mig.is_capable = 1;
  mig.needs_reset = model.needs_reset_for_mig ? 1 : 0;
  for (const MigProfile& profile : model.mig_profiles) {
    if (mig.profile_count == sim::kMaxMigProfiles) {
      break;
    }
    sim::SimMigProfile& row = mig.profiles[mig.profile_count++];
    row.index = profile.nvml_index;
    row.id = profile.id;
    row.compute_slices = profile.compute_slices;
    row.memory_slices = profile.memory_slices;
    row.max_instances = profile.max_instances;
    row.has_media_extensions = profile.name.ends_with("+me") ? 1 : 0;
    row.multiprocessors = profile.multiprocessors;
    row.copy_engines = profile.copy_engines;
    row.decoders = profile.decoders;
    row.jpeg_engines = profile.jpeg_engines;
    row.ofa_engines = profile.ofa_engines;
    row.memory_mib = profile.memory_mib;
    for (const unsigned start : profile.starts) {
      if (row.placement_count < sim::kMaxPlacements) {
        row.placements[row.placement_count++] = start;
      }
    }
    CopyText(profile.name, row.name);
    mig.memory_slice_count = std::max(mig.memory_slice_count, profile.memory_slices);
    mig.compute_slice_count = std::max(mig.compute_slice_count, profile.compute_slices);
  }
}

void FillGpm(sim::SimGpu& gpu) {
  gpu.gpm = {.is_capable = IsHopperOrNewer(gpu) ? 1U : 0U,
             .graphics = kUnsupported,
             .sm = kUnsupported,
             .occupancy = kUnsupported,
             .tensor = kUnsupported,
             .fp64 = kUnsupported,
             .fp32 = kUnsupported,
             .fp16 = kUnsupported,
             .dram = kUnsupported,
             .padding = 0};
}

uint64_t SupportedEvents(const GpuModel& model) {
  uint64_t events = nvml::kEventPState | nvml::kEventXidCritical | nvml::kEventClock;
  if (!model.Lacks(Feature::kEcc)) {
    events |= nvml::kEventSingleBitEcc | nvml::kEventDoubleBitEcc;
  }
  if (!model.mig_profiles.empty()) {
    events |= nvml::kEventMigConfig;
  }
  return events;
}

void FillIdentity(const GpuModel& model, const GpuPlace& place, sim::SimGpu& gpu) {
  CopyText(place.uuid, gpu.uuid);
  CopyText(model.name, gpu.name);
  CopyText(model.Lacks(Feature::kSerial) ? "" : place.serial, gpu.serial);
  CopyText(model.part_number, gpu.board_part_number);
  CopyText(model.vbios, gpu.vbios);
  CopyText("G500.0200.00.03", gpu.inforom_image);
  CopyText("2.0", gpu.inforom_oem);
  CopyText(model.Lacks(Feature::kEcc) ? "" : "6.16", gpu.inforom_ecc);
  CopyText("", gpu.inforom_power);
  CopyText(place.gsp_firmware, gpu.gsp_firmware);
  gpu.brand = BrandCode(model.brand);
  gpu.architecture = ArchitectureCode(model.architecture);
  gpu.cc_major = model.compute_major;
  gpu.cc_minor = model.compute_minor;
  gpu.cuda_cores = model.cores;
  gpu.multiprocessors = model.multiprocessors;
  gpu.memory_bus_width = model.bus_width_bits;
  gpu.board_id = place.shares_board ? 0x500 + place.board : 0x100 * place.pci.bus + 0x100;
  gpu.is_multi_gpu_board = place.shares_board ? 1 : 0;
  gpu.module_id = model.nvlinks > 0 ? place.minor + 1 : kUnsupported;
  gpu.irq = 120 + place.minor;
}

}  // namespace

void FillGpu(const GpuModel& model, const GpuPlace& place, sim::SimGpu& gpu) {
  gpu = sim::SimGpu{};
  gpu.is_present = 1;
  gpu.minor = place.minor;
  FillIdentity(model, place, gpu);
  FillPci(model, place, gpu);
  gpu.memory_total = model.memory_mib * kMebi;
  gpu.context_mib = model.context_mib;
  gpu.memory_reserved = gpu.memory_total / 128;
  gpu.bar1_total = model.Lacks(Feature::kBar1) ? kUnsupported64 : model.bar1_mib * kMebi;
  gpu.bar1_used = model.Lacks(Feature::kBar1) ? kUnsupported64 : kMebi;
  FillPower(model, gpu.power);
  FillClocks(model, gpu.clocks);
  FillHeat(model, gpu);
  FillUse(model, gpu.utilization);
  FillMemoryErrors(model, gpu);
  gpu.performance_state = model.Lacks(Feature::kPower) ? 8 : 0;
  gpu.persistence_mode = 1;
  gpu.throttle_reasons = model.Lacks(Feature::kThrottle) ? kUnsupported64 : 1;  // idle
  gpu.supported_throttle_reasons = model.Lacks(Feature::kThrottle) ? kUnsupported64 : 0x1ff;
  gpu.supported_events = SupportedEvents(model);
  gpu.numa_node = static_cast<int32_t>(place.numa_node);
  for (const unsigned cpu : CpusOf(place.cpu_list)) {
    if (cpu / 64 < sim::kCpuMaskWords) {
      gpu.cpu_mask[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }
  }
  gpu.fabric_state = kUnsupported;
  FillMig(model, gpu.mig);
  FillGpm(gpu);
}

}  // namespace kgpu::simhost
