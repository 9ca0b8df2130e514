// DCGM_FI_*: names, types, units and labels as NVIDIA's DCGM exporter has them.
// Source: the exporter's lists of counters; dcgm_fields.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "src/gpu/health/xid_rows.h"
#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::Clocks;
using device::EccCounts;
using device::GpuSample;
using device::MemoryUse;
using device::MigSample;
using device::NvLinkSample;
using device::PcieSample;
using device::Power;
using device::ProfilingSample;
using device::Temperatures;
using device::Utilization;
using enum metrics::Type;

constexpr double kKibi = 1024;
constexpr double kMebi = kKibi * 1024;

// A container that has the whole device has the device's own sample.
void CollectContainerMemory(const ContainerView& view, Values& out) {
  if (!view.is_owner()) {
    out.Divided(view.use->memory, kMebi);
  }
}

void CollectContainerUse(const ContainerView& view, Values& out) {
  if (!view.is_owner()) {
    out.Put(view.use->sm);
  }
}

// Without the fix, which follows the colon.
std::string_view MessageOf(uint64_t xid) {
  if (xid == 0) {
    return "no error";
  }
  for (const health::XidRow& row : health::XidRows()) {
    if (row.first <= xid && xid <= row.last) {
      return row.text.substr(0, row.text.find(": "));
    }
  }
  return "unknown";
}

void CollectLastXid(const GpuView& view, Values& out) {
  if (view.health == nullptr) {
    return;
  }
  const auto& last = view.health->counters.last_xids;
  const auto found = std::ranges::find(last, view.gpu->uuid, &health::Counters::LastXid::gpu);
  const uint64_t xid = found == last.end() ? 0 : found->xid;
  out.Put({{"err_code", fmt::format("{}", xid)}, {"err_msg", MessageOf(xid)}},
          static_cast<double>(xid));
}

// Those of hosts and of guests that have a whole GPU need none.
void CollectLicense(const GpuView&, Values& out) {
  out.Put(0.0);
}

// The sum over all links; nothing where no link tells it.
template <auto field>
std::optional<uint64_t> SumOfLinks(const GpuSample& sample) {
  std::optional<uint64_t> sum;
  for (const NvLinkSample& link : sample.nvlinks) {
    const std::optional<uint64_t>& count = link.*field;
    if (count) {
      sum = sum.value_or(0) + *count;
    }
  }
  return sum;
}

template <auto field>
void CollectDcgmLinks(const GpuView& view, Values& out) {
  out.Put(SumOfLinks<field>(*view.sample));
}

// DCGM reports the traffic of all links in MB per second, whatever the type says.
void CollectLinkRate(const GpuView& view, Values& out) {
  if (view.previous == nullptr || view.seconds <= 0) {
    return;
  }
  const auto moved = [](const GpuSample& sample) -> std::optional<double> {
    const auto sent = SumOfLinks<&NvLinkSample::sent_bytes>(sample);
    const auto received = SumOfLinks<&NvLinkSample::received_bytes>(sample);
    return sent && received ? std::optional(static_cast<double>(*sent + *received)) : std::nullopt;
  };
  const auto now = moved(*view.sample);
  const auto before = moved(*view.previous);
  constexpr double kMega = 1e6;
  if (now && before && *now >= *before) {
    out.Put(std::round((*now - *before) / view.seconds / kMega));
  }
}

template <auto field>
constexpr Collectors kDcgmUse{.gpu = &Plain<&GpuSample::utilization, field>};
template <auto field>
constexpr Collectors kClock{.gpu = &Plain<&GpuSample::clocks, field>};
template <auto field>
constexpr Collectors kEcc{.gpu = &Plain<&GpuSample::ecc, field>};
// Series that MIG devices have are reported only for them once a GPU is partitioned, as the
// exporter does: sums and means over all samples would count them twice.
bool IsCut(const GpuView& view) {
  return !view.gpu->mig_devices.empty();
}

template <auto field>
void CollectProfiling(const GpuView& view, Values& out) {
  if (!IsCut(view)) {
    Plain<&GpuSample::profiling, field>(view, out);
  }
}

template <auto field>
void CollectMemory(const GpuView& view, Values& out) {
  if (!IsCut(view)) {
    Divided<kMebi, &GpuSample::memory, field>(view, out);
  }
}

template <auto field>
constexpr Collectors kDcgmProfiling{.gpu = &CollectProfiling<field>,
                                    .mig = &MigPlain<&MigSample::profiling, field>};
template <auto field>
constexpr Collectors kDcgmMemory{.gpu = &CollectMemory<field>,
                                 .mig = &MigDivided<kMebi, &MigSample::memory, field>};

constexpr const char* kClocksEventReasons =
    "Why the clocks are reduced: bits of NVML's clocks event reasons.";

constexpr std::array kDcgm = {
    Series{"DCGM_FI_DEV_SM_CLOCK", kGauge, "SM clock, MHz.", "", "", kClock<&Clocks::sm>},
    Series{"DCGM_FI_DEV_MEM_CLOCK", kGauge, "Memory clock, MHz.", "", "", kClock<&Clocks::memory>},
    Series{"DCGM_FI_DEV_MEMORY_TEMP", kGauge, "Device memory temperature, °C.", "", "",
           Only(&Plain<&GpuSample::temperatures, &Temperatures::memory>)},
    Series{"DCGM_FI_DEV_GPU_TEMP", kGauge, "GPU temperature, °C.", "", "",
           Only(&Plain<&GpuSample::temperatures, &Temperatures::gpu>)},
    Series{"DCGM_FI_DEV_POWER_USAGE", kGauge, "Power draw, W.", "", "",
           Only(&Plain<&GpuSample::power, &Power::watts>)},
    Series{"DCGM_FI_DEV_POWER_MGMT_LIMIT", kGauge, "Enforced power limit, W.", "", "",
           Only(&Plain<&GpuSample::power, &Power::limit_watts>)},
    Series{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", kCounter,
           "Energy used since the driver was loaded, mJ.", "", "",
           Only(&Plain<&GpuSample::power, &Power::energy_millijoules>)},
    Series{"DCGM_FI_DEV_PCIE_TX_THROUGHPUT", kCounter,
           "Data sent by the GPU over PCIe, KiB/s over 20 ms.", "", "",
           Only(&Divided<kKibi, &GpuSample::pcie, &PcieSample::sent_bytes_per_second>)},
    Series{"DCGM_FI_DEV_PCIE_RX_THROUGHPUT", kCounter,
           "Data received by the GPU over PCIe, KiB/s over 20 ms.", "", "",
           Only(&Divided<kKibi, &GpuSample::pcie, &PcieSample::received_bytes_per_second>)},
    Series{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kCounter, "PCIe replays.", "", "",
           Only(&Plain<&GpuSample::pcie, &PcieSample::replays>)},
    Series{"DCGM_FI_DEV_GPU_UTIL",
           kGauge,
           "Time during which a kernel ran, %; for containers that share a GPU, their own.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::utilization, &Utilization::gpu>,
            .container = &CollectContainerUse}},
    Series{"DCGM_FI_DEV_MEM_COPY_UTIL", kGauge, "Time during which memory was read or written, %.",
           "", "", kDcgmUse<&Utilization::memory>},
    Series{"DCGM_FI_DEV_ENC_UTIL", kGauge, "Video encoder utilization, %.", "", "",
           kDcgmUse<&Utilization::encoder>},
    Series{"DCGM_FI_DEV_DEC_UTIL", kGauge, "Video decoder utilization, %.", "", "",
           kDcgmUse<&Utilization::decoder>},
    Series{"DCGM_FI_DEV_XID_ERRORS", kGauge, "The last XID and its description; 0: none.", "",
           "err_code, err_msg", Only(&CollectLastXid)},
    Series{"DCGM_FI_DEV_VGPU_LICENSE_STATUS", kGauge,
           "Whether the GPU is a licensed vGPU: always 0, vGPUs are not supported.", "", "",
           Only(&CollectLicense)},
    Series{"DCGM_FI_DEV_POWER_VIOLATION", kCounter, "Time throttled for power, ns.", "", "",
           Only(&Plain<&GpuSample::power_violation_ns>)},
    Series{"DCGM_FI_DEV_THERMAL_VIOLATION", kCounter, "Time throttled for temperature, ns.", "", "",
           Only(&Plain<&GpuSample::thermal_violation_ns>)},
    // DCGM's older name and its newer one for the same field.
    Series{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", kGauge, kClocksEventReasons, "", "",
           Only(&Plain<&GpuSample::throttle_reasons>)},
    Series{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", kGauge, kClocksEventReasons, "", "",
           Only(&Plain<&GpuSample::throttle_reasons>)},
    Series{"DCGM_FI_DEV_PSTATE", kGauge, "P-state: 0 is the fastest.", "", "",
           Only(&Plain<&GpuSample::performance_state>)},
    Series{"DCGM_FI_DEV_FB_TOTAL", kGauge, "Total device memory, MiB.", "", "",
           kDcgmMemory<&MemoryUse::total>},
    Series{"DCGM_FI_DEV_FB_FREE", kGauge, "Free device memory, MiB.", "", "",
           kDcgmMemory<&MemoryUse::free>},
    Series{"DCGM_FI_DEV_FB_USED",
           kGauge,
           "Used device memory, MiB; for containers that share a device, their own.",
           "",
           "",
           {.gpu = &CollectMemory<&MemoryUse::used>,
            .mig = &MigDivided<kMebi, &MigSample::memory, &MemoryUse::used>,
            .container = &CollectContainerMemory}},
    Series{"DCGM_FI_DEV_FB_RESERVED", kGauge, "Device memory reserved by the driver, MiB.", "", "",
           kDcgmMemory<&MemoryUse::reserved>},
    Series{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kCounter,
           "Corrected memory errors since the driver was loaded.", "", "",
           kEcc<&EccCounts::volatile_corrected>},
    Series{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kCounter,
           "Uncorrected memory errors since the driver was loaded.", "", "",
           kEcc<&EccCounts::volatile_uncorrected>},
    Series{"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", kCounter,
           "Corrected memory errors over the GPU's lifetime.", "", "",
           kEcc<&EccCounts::aggregate_corrected>},
    Series{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", kCounter,
           "Uncorrected memory errors over the GPU's lifetime.", "", "",
           kEcc<&EccCounts::aggregate_uncorrected>},
    Series{"DCGM_FI_DEV_RETIRED_SBE", kCounter, "Pages retired for corrected errors.", "", "",
           Only(&Plain<&GpuSample::retired, &device::RetiredPages::single_bit>)},
    Series{"DCGM_FI_DEV_RETIRED_DBE", kCounter, "Pages retired for uncorrected errors.", "", "",
           Only(&Plain<&GpuSample::retired, &device::RetiredPages::double_bit>)},
    Series{"DCGM_FI_DEV_RETIRED_PENDING", kCounter, "Whether a page retirement is pending a reset.",
           "", "", Only(&Plain<&GpuSample::retired, &device::RetiredPages::is_pending>)},
    Series{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kCounter,
           "Rows remapped for uncorrected errors.", "", "",
           Only(&Plain<&GpuSample::remaps, &device::RowRemaps::uncorrected>)},
    Series{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kCounter, "Rows remapped for corrected errors.",
           "", "", Only(&Plain<&GpuSample::remaps, &device::RowRemaps::corrected>)},
    Series{"DCGM_FI_DEV_ROW_REMAP_FAILURE", kGauge, "Whether a row remap failed.", "", "",
           Only(&Plain<&GpuSample::remaps, &device::RowRemaps::has_failed>)},
    Series{"DCGM_FI_DEV_ROW_REMAP_PENDING", kGauge, "Whether a row remap is pending a reset.", "",
           "", Only(&Plain<&GpuSample::remaps, &device::RowRemaps::is_pending>)},
    Series{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", kCounter,
           "Flow control CRC errors, all NVLinks.", "", "",
           Only(&CollectDcgmLinks<&NvLinkSample::crc_flit_errors>)},
    Series{"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", kCounter,
           "Data CRC errors, all NVLinks.", "", "",
           Only(&CollectDcgmLinks<&NvLinkSample::crc_data_errors>)},
    Series{"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", kCounter, "Replays, all NVLinks.", "", "",
           Only(&CollectDcgmLinks<&NvLinkSample::replay_errors>)},
    Series{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", kCounter,
           "Link recoveries, all NVLinks.", "", "",
           Only(&CollectDcgmLinks<&NvLinkSample::recovery_errors>)},
    Series{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", kCounter,
           "Data over all NVLinks, both directions, MB/s since the previous round.", "", "",
           Only(&CollectLinkRate)},
    Series{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", kGauge,
           "Time during which an engine was active, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::graphics_active>},
    Series{"DCGM_FI_PROF_SM_ACTIVE", kGauge, "Share of SMs with work, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::sm_active>},
    Series{"DCGM_FI_PROF_SM_OCCUPANCY", kGauge, "Share of resident warps, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::sm_occupancy>},
    Series{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kGauge, "Tensor core utilization, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::tensor_active>},
    Series{"DCGM_FI_PROF_PIPE_FP64_ACTIVE", kGauge, "FP64 unit utilization, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::fp64_active>},
    Series{"DCGM_FI_PROF_PIPE_FP32_ACTIVE", kGauge, "FP32 unit utilization, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::fp32_active>},
    Series{"DCGM_FI_PROF_PIPE_FP16_ACTIVE", kGauge, "FP16 unit utilization, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::fp16_active>},
    Series{"DCGM_FI_PROF_DRAM_ACTIVE", kGauge, "Memory bandwidth utilization, 0 to 1.", "", "",
           kDcgmProfiling<&ProfilingSample::dram_active>},
    Series{"DCGM_FI_PROF_PCIE_TX_BYTES", kGauge,
           "Data sent by the GPU over PCIe, bytes per second.", "", "",
           kDcgmProfiling<&ProfilingSample::pcie_sent_bytes_per_second>},
    Series{"DCGM_FI_PROF_PCIE_RX_BYTES", kGauge,
           "Data received by the GPU over PCIe, bytes per second.", "", "",
           kDcgmProfiling<&ProfilingSample::pcie_received_bytes_per_second>},
    Series{"DCGM_FI_PROF_NVLINK_TX_BYTES", kGauge, "Data sent over all NVLinks, bytes per second.",
           "", "", kDcgmProfiling<&ProfilingSample::nvlink_sent_bytes_per_second>},
    Series{"DCGM_FI_PROF_NVLINK_RX_BYTES", kGauge,
           "Data received over all NVLinks, bytes per second.", "", "",
           kDcgmProfiling<&ProfilingSample::nvlink_received_bytes_per_second>},
};

}  // namespace

std::span<const Series> DcgmSeries() {
  return kDcgm;
}

}  // namespace kgpu::telemetry
