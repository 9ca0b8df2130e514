// kgpu_gpu_*: what state a GPU is in: errors, links, health.
#include <array>

#include "src/gpu/health/xid_counts.h"
#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::EccCounts;
using device::GpuSample;
using device::NvLinkSample;
using device::PcieSample;
using enum metrics::Type;

void CollectInfo(const GpuView& view, Values& out) {
  const device::Gpu& gpu = *view.gpu;
  const bool is_mig = gpu.mig_mode && gpu.mig_mode->is_enabled;
  out.Put({{"name", gpu.name},
           {"architecture", gpu.architecture},
           {"minor", fmt::format("{}", gpu.minor)},
           {"serial", gpu.serial},
           {"vbios", gpu.vbios},
           {"numa_node", gpu.numa_node ? fmt::format("{}", *gpu.numa_node) : std::string()},
           {"mig", is_mig ? "enabled" : "disabled"}},
          1);
}

void CollectHealthy(const GpuView& view, Values& out) {
  out.Put(view.gpu->health.is_healthy ? 1 : 0);
}

// `number` as a label; "" leaves it out.
std::string NumberOrNone(const std::optional<unsigned>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

void CollectOpenFaults(const GpuView& view, Values& out) {
  if (view.health == nullptr) {
    return;
  }
  for (const health::OpenFault& fault : view.health->open) {
    if (fault.scope.gpu == view.gpu->uuid) {
      out.Put({{"rule", fault.rule},
               {"class", ToString(fault.fault_class)},
               {"action", ToString(fault.action)},
               {"effect", fault.is_unhealthy ? "unhealthy" : "warning"},
               {"held", fault.is_held ? "yes" : "no"},
               {"gpu_instance", NumberOrNone(fault.scope.gpu_instance)},
               {"compute_instance", NumberOrNone(fault.scope.compute_instance)}},
              1);
    }
  }
}

void CollectFaults(const GpuView& view, Values& out) {
  if (view.health == nullptr) {
    return;
  }
  for (const health::Counters::Fault& fault : view.health->counters.faults) {
    if (fault.gpu == view.gpu->uuid) {
      out.Put({{"rule", fault.rule}}, static_cast<double>(fault.raised));
    }
  }
}

void CollectXids(const GpuView& view, Values& out) {
  if (view.health == nullptr) {
    return;
  }
  for (const health::Counters::Xid& xid : view.health->counters.xids) {
    if (xid.gpu == view.gpu->uuid) {
      const bool is_code = xid.xid != health::XidCounts::kOther;
      out.Put({{"xid", is_code ? fmt::format("{}", xid.xid) : "other"}},
              static_cast<double>(xid.count));
    }
  }
}

template <auto corrected, auto uncorrected>
void CollectEcc(const GpuView& view, Values& out) {
  out.Put({{"type", "corrected"}}, view.sample->ecc.*corrected);
  out.Put({{"type", "uncorrected"}}, view.sample->ecc.*uncorrected);
}

void CollectRemaps(const GpuView& view, Values& out) {
  if (const auto& remaps = view.sample->remaps) {
    out.Put({{"cause", "corrected"}}, remaps->corrected);
    out.Put({{"cause", "uncorrected"}}, remaps->uncorrected);
  }
}

void CollectSpareRows(const GpuView& view, Values& out) {
  constexpr std::array<std::string_view, 5> kLeft = {"all", "many", "some", "one", "none"};
  const auto& remaps = view.sample->remaps;
  if (!remaps || !remaps->spare_rows) {
    return;
  }
  for (size_t i = 0; i < kLeft.size() && i < remaps->spare_rows->size(); ++i) {
    out.Put({{"spare_rows", kLeft.at(i)}}, (*remaps->spare_rows)[i]);
  }
}

void CollectRetired(const GpuView& view, Values& out) {
  if (const auto& retired = view.sample->retired) {
    out.Put({{"cause", "single_bit"}}, retired->single_bit);
    out.Put({{"cause", "double_bit"}}, retired->double_bit);
  }
}

// Calls `put` for each link with its number as a label.
template <typename Put>
void ForEachLink(const GpuView& view, const Put& put) {
  for (const NvLinkSample& link : view.sample->nvlinks) {
    put(link, fmt::format("{}", link.link));
  }
}

void CollectLinks(const GpuView& view, Values& out) {
  ForEachLink(view, [&](const NvLinkSample& link, const std::string& number) {
    out.Put({{"link", number}}, link.is_active ? 1 : 0);
  });
}

void CollectLinkErrors(const GpuView& view, Values& out) {
  ForEachLink(view, [&](const NvLinkSample& link, const std::string& number) {
    out.Put({{"link", number}, {"type", "replay"}}, link.replay_errors);
    out.Put({{"link", number}, {"type", "recovery"}}, link.recovery_errors);
    out.Put({{"link", number}, {"type", "crc_flit"}}, link.crc_flit_errors);
    out.Put({{"link", number}, {"type", "crc_data"}}, link.crc_data_errors);
  });
}

template <auto field>
void CollectLinkBytes(const GpuView& view, Values& out) {
  ForEachLink(view, [&](const NvLinkSample& link, const std::string& number) {
    out.Put({{"link", number}}, link.*field);
  });
}

template <auto field>
constexpr Collectors kPcie{.gpu = &Plain<&GpuSample::pcie, field>};

constexpr std::array kCondition = {
    Series{"kgpu_gpu_info", kInfo, "Properties of the GPU; always 1. NVML.", "",
           "name, architecture, minor, serial, vbios, numa_node, mig", Only(&CollectInfo)},
    Series{"kgpu_gpu_healthy", kGauge,
           "Whether the GPU can be allocated; see kgpu health. The agent's rules.", "", "",
           Only(&CollectHealthy)},
    Series{"kgpu_gpu_fault", kGauge,
           "An open fault and its fix; always 1. Effect: unhealthy, or warning only. Held: it "
           "occurred too often. For a MIG device: with its instances. The agent's rules.",
           "", "rule, class, action, effect, held, gpu_instance, compute_instance",
           Only(&CollectOpenFaults)},
    Series{"kgpu_gpu_faults_total", kCounter, "Faults found since the agent started counting.", "",
           "rule", Only(&CollectFaults)},
    Series{"kgpu_gpu_xids_total", kCounter,
           "XIDs since the agent started counting; after 256 codes, further ones are counted as "
           "other. Events of NVML, and the kernel log.",
           "", "xid", Only(&CollectXids)},
    Series{"kgpu_gpu_ecc_errors_total", kCounter,
           "Memory errors over the GPU's lifetime. nvmlDeviceGetTotalEccErrors, aggregate.", "",
           "type",
           Only(&CollectEcc<&EccCounts::aggregate_corrected, &EccCounts::aggregate_uncorrected>)},
    Series{"kgpu_gpu_volatile_ecc_errors_total", kCounter,
           "Memory errors since the driver was loaded. nvmlDeviceGetTotalEccErrors, volatile.", "",
           "type",
           Only(&CollectEcc<&EccCounts::volatile_corrected, &EccCounts::volatile_uncorrected>)},
    Series{"kgpu_gpu_remapped_rows_total", kCounter,
           "Remapped memory rows. nvmlDeviceGetRemappedRows.", "", "cause", Only(&CollectRemaps)},
    Series{"kgpu_gpu_row_remap_pending", kGauge,
           "Whether a row remap is pending a reset. nvmlDeviceGetRemappedRows.", "", "",
           Only(&Plain<&GpuSample::remaps, &device::RowRemaps::is_pending>)},
    Series{"kgpu_gpu_row_remap_failed", kGauge,
           "Whether a row remap failed. nvmlDeviceGetRemappedRows.", "", "",
           Only(&Plain<&GpuSample::remaps, &device::RowRemaps::has_failed>)},
    Series{"kgpu_gpu_memory_banks", kGauge,
           "Memory banks by number of spare rows left. nvmlDeviceGetRowRemapperHistogram.", "",
           "spare_rows", Only(&CollectSpareRows)},
    Series{"kgpu_gpu_retired_pages_total", kCounter,
           "Retired memory pages, before Ampere. nvmlDeviceGetRetiredPages.", "", "cause",
           Only(&CollectRetired)},
    Series{"kgpu_gpu_retired_pages_pending", kGauge,
           "Whether a page retirement is pending a reset. nvmlDeviceGetRetiredPagesPendingStatus.",
           "", "", Only(&Plain<&GpuSample::retired, &device::RetiredPages::is_pending>)},
    Series{"kgpu_gpu_pcie_generation", kGauge,
           "Current PCIe generation; it drops while the GPU is idle. "
           "nvmlDeviceGetCurrPcieLinkGeneration.",
           "", "", kPcie<&PcieSample::generation>},
    Series{"kgpu_gpu_pcie_generation_limit", kGauge,
           "Highest PCIe generation of GPU and slot. nvmlDeviceGetMaxPcieLinkGeneration.", "", "",
           kPcie<&PcieSample::max_generation>},
    Series{"kgpu_gpu_pcie_lanes", kGauge, "Current PCIe lanes. nvmlDeviceGetCurrPcieLinkWidth.", "",
           "", kPcie<&PcieSample::width>},
    Series{"kgpu_gpu_pcie_lanes_limit", kGauge,
           "Highest number of PCIe lanes of GPU and slot. nvmlDeviceGetMaxPcieLinkWidth.", "", "",
           kPcie<&PcieSample::max_width>},
    Series{"kgpu_gpu_pcie_replays_total", kCounter, "PCIe replays. nvmlDeviceGetPcieReplayCounter.",
           "", "", kPcie<&PcieSample::replays>},
    Series{"kgpu_gpu_pcie_sent_bytes_per_second", kGauge,
           "Data sent by the GPU since the previous round; over the last 20 ms with drivers before "
           "565. NVML_FI_DEV_PCIE_COUNT_TX_BYTES, or nvmlDeviceGetPcieThroughput.",
           "", "", kPcie<&PcieSample::sent_bytes_per_second>},
    Series{"kgpu_gpu_pcie_received_bytes_per_second", kGauge,
           "Data received by the GPU since the previous round; over the last 20 ms with drivers "
           "before 565. NVML_FI_DEV_PCIE_COUNT_RX_BYTES, or nvmlDeviceGetPcieThroughput.",
           "", "", kPcie<&PcieSample::received_bytes_per_second>},
    Series{"kgpu_gpu_nvlink_active", kGauge, "Whether the link is up. nvmlDeviceGetNvLinkState.",
           "", "link", Only(&CollectLinks)},
    Series{"kgpu_gpu_nvlink_errors_total", kCounter,
           "Link errors. nvmlDeviceGetNvLinkErrorCounter.", "", "link, type",
           Only(&CollectLinkErrors)},
    Series{"kgpu_gpu_nvlink_sent_bytes_total", kCounter,
           "Data sent over a link. NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX.", "bytes", "link",
           Only(&CollectLinkBytes<&NvLinkSample::sent_bytes>)},
    Series{"kgpu_gpu_nvlink_received_bytes_total", kCounter,
           "Data received over a link. NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX.", "bytes", "link",
           Only(&CollectLinkBytes<&NvLinkSample::received_bytes>)},
    Series{"kgpu_gpu_fabric_state", kGauge,
           "0 not supported, 1 not started, 2 in progress, 3 completed. "
           "nvmlDeviceGetGpuFabricInfo.",
           "", "", Only(&Plain<&GpuSample::fabric_state>)},
    Series{"kgpu_gpu_recovery_action", kGauge,
           "Recovery action requested by the driver: 0 none, 1 reset, 2 reboot, 3 drain the GPU's "
           "links, 4 drain and reset. NVML_FI_DEV_GET_GPU_RECOVERY_ACTION.",
           "", "", Only(&Plain<&GpuSample::recovery_action>)},
};

}  // namespace

std::span<const Series> KgpuConditionSeries() {
  return kCondition;
}

}  // namespace kgpu::telemetry
