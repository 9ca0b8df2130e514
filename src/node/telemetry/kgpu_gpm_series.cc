// kgpu_gpu_* and kgpu_mig_* of the GPU performance monitors (GPM), and kgpu_mig_*.
#include <array>

#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::GpuSample;
using device::MemoryUse;
using device::MigSample;
using device::ProfilingSample;
using enum metrics::Type;

template <auto field>
constexpr Collectors kGpm{.gpu = &Plain<&GpuSample::profiling, field>};
template <auto field>
constexpr Collectors kMigGpm{.mig = &MigPlain<&MigSample::profiling, field>};
template <auto field>
constexpr Collectors kMigMemory{.mig = &MigPlain<&MigSample::memory, field>};

constexpr std::array kProfiling = {
    Series{"kgpu_gpu_graphics_active_ratio", kGauge,
           "Share of time during which any compute or graphics engine ran. GPM, Hopper and newer.",
           "ratio", "", kGpm<&ProfilingSample::graphics_active>},
    Series{"kgpu_gpu_sm_active_ratio", kGauge,
           "Share of SMs with work, over time. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::sm_active>},
    Series{"kgpu_gpu_sm_occupancy_ratio", kGauge,
           "Resident warps relative to the maximum. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::sm_occupancy>},
    Series{"kgpu_gpu_tensor_active_ratio", kGauge,
           "Tensor core utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::tensor_active>},
    Series{"kgpu_gpu_fp64_active_ratio", kGauge,
           "FP64 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::fp64_active>},
    Series{"kgpu_gpu_fp32_active_ratio", kGauge,
           "FP32 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::fp32_active>},
    Series{"kgpu_gpu_fp16_active_ratio", kGauge,
           "FP16 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::fp16_active>},
    Series{"kgpu_gpu_dram_active_ratio", kGauge,
           "Memory bandwidth utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kGpm<&ProfilingSample::dram_active>},
    Series{"kgpu_gpu_pcie_sent_mean_bytes_per_second", kGauge,
           "Data sent by the GPU over PCIe since the previous round. GPM, Hopper and newer.", "",
           "", kGpm<&ProfilingSample::pcie_sent_bytes_per_second>},
    Series{"kgpu_gpu_pcie_received_mean_bytes_per_second", kGauge,
           "Data received by the GPU over PCIe since the previous round. GPM, Hopper and newer.",
           "", "", kGpm<&ProfilingSample::pcie_received_bytes_per_second>},
    Series{"kgpu_gpu_nvlink_sent_mean_bytes_per_second", kGauge,
           "Data sent over all NVLinks since the previous round. GPM, Hopper and newer.", "", "",
           kGpm<&ProfilingSample::nvlink_sent_bytes_per_second>},
    Series{"kgpu_gpu_nvlink_received_mean_bytes_per_second", kGauge,
           "Data received over all NVLinks since the previous round. GPM, Hopper and newer.", "",
           "", kGpm<&ProfilingSample::nvlink_received_bytes_per_second>},
};

void CollectMigHealthy(const MigView& view, Values& out) {
  out.Put(view.mig->health.is_healthy && view.gpu->gpu->health.is_healthy ? 1 : 0);
}

constexpr std::array kMig = {
    Series{"kgpu_mig_healthy", kGauge,
           "Whether the MIG device can be allocated. The agent's rules.", "", "",
           Only(&CollectMigHealthy)},
    Series{"kgpu_mig_memory_total_bytes", kGauge,
           "Total memory of the GPU instance. nvmlDeviceGetMemoryInfo_v2 of the MIG device.",
           "bytes", "", kMigMemory<&MemoryUse::total>},
    Series{"kgpu_mig_memory_used_bytes", kGauge,
           "Memory used by programs. nvmlDeviceGetMemoryInfo_v2 of the MIG device.", "bytes", "",
           kMigMemory<&MemoryUse::used>},
    Series{"kgpu_mig_memory_free_bytes", kGauge,
           "Memory available to programs. nvmlDeviceGetMemoryInfo_v2 of the MIG device.", "bytes",
           "", kMigMemory<&MemoryUse::free>},
    Series{"kgpu_mig_graphics_active_ratio", kGauge,
           "Share of time during which any engine of the instance ran. GPM, Hopper and newer.",
           "ratio", "", kMigGpm<&ProfilingSample::graphics_active>},
    Series{"kgpu_mig_sm_active_ratio", kGauge,
           "Share of its SMs with work, over time. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::sm_active>},
    Series{"kgpu_mig_sm_occupancy_ratio", kGauge,
           "Resident warps relative to the maximum. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::sm_occupancy>},
    Series{"kgpu_mig_tensor_active_ratio", kGauge,
           "Tensor core utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::tensor_active>},
    Series{"kgpu_mig_fp64_active_ratio", kGauge,
           "FP64 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::fp64_active>},
    Series{"kgpu_mig_fp32_active_ratio", kGauge,
           "FP32 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::fp32_active>},
    Series{"kgpu_mig_fp16_active_ratio", kGauge,
           "FP16 unit utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::fp16_active>},
    Series{"kgpu_mig_dram_active_ratio", kGauge,
           "Memory bandwidth utilization relative to the peak. GPM, Hopper and newer.", "ratio", "",
           kMigGpm<&ProfilingSample::dram_active>},
};

}  // namespace

std::span<const Series> KgpuProfilingSeries() {
  return kProfiling;
}

std::span<const Series> KgpuMigSeries() {
  return kMig;
}

}  // namespace kgpu::telemetry
