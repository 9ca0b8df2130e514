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
    Series{"kgpu_gpu_info",
           kInfo,
           "What the GPU is; always 1. NVML.",
           "",
           "name, architecture, minor, serial, vbios, numa_node, mig",
           {.gpu = &CollectInfo}},
    Series{"kgpu_gpu_healthy",
           kGauge,
           "Whether the GPU is handed out: kgpu health says why not. The agent's rules.",
           "",
           "",
           {.gpu = &CollectHealthy}},
    Series{
        "kgpu_gpu_fault",
        kGauge,
        "A fault that is open, and what mends it; always 1. Effect: unhealthy, or a warning only. "
        "Held: it came back too often. Of a MIG device: with its instances. The agent's rules.",
        "",
        "rule, class, action, effect, held, gpu_instance, compute_instance",
        {.gpu = &CollectOpenFaults}},
    Series{"kgpu_gpu_faults_total",
           kCounter,
           "Faults found since the agent counts.",
           "",
           "rule",
           {.gpu = &CollectFaults}},
    Series{"kgpu_gpu_xids_total",
           kCounter,
           "XIDs since the agent counts; past 256 codes further ones are one, other. Events of "
           "NVML, and the kernel log.",
           "",
           "xid",
           {.gpu = &CollectXids}},
    Series{
        "kgpu_gpu_ecc_errors_total",
        kCounter,
        "Memory errors of the GPU's life. nvmlDeviceGetTotalEccErrors, aggregate.",
        "",
        "type",
        {.gpu = &CollectEcc<&EccCounts::aggregate_corrected, &EccCounts::aggregate_uncorrected>}},
    Series{"kgpu_gpu_volatile_ecc_errors_total",
           kCounter,
           "The same errors, since the driver was loaded. nvmlDeviceGetTotalEccErrors, volatile.",
           "",
           "type",
           {.gpu = &CollectEcc<&EccCounts::volatile_corrected, &EccCounts::volatile_uncorrected>}},
    Series{"kgpu_gpu_remapped_rows_total",
           kCounter,
           "Rows of memory that were replaced by spare ones. nvmlDeviceGetRemappedRows.",
           "",
           "cause",
           {.gpu = &CollectRemaps}},
    Series{"kgpu_gpu_row_remap_pending",
           kGauge,
           "Whether a row is replaced by the next reset. nvmlDeviceGetRemappedRows.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::remaps, &device::RowRemaps::is_pending>}},
    Series{"kgpu_gpu_row_remap_failed",
           kGauge,
           "Whether a row could not be replaced. nvmlDeviceGetRemappedRows.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::remaps, &device::RowRemaps::has_failed>}},
    Series{"kgpu_gpu_memory_banks",
           kGauge,
           "Memory banks by how many spare rows they have left. "
           "nvmlDeviceGetRowRemapperHistogram.",
           "",
           "spare_rows",
           {.gpu = &CollectSpareRows}},
    Series{"kgpu_gpu_retired_pages_total",
           kCounter,
           "Pages of memory out of use, before Ampere. nvmlDeviceGetRetiredPages.",
           "",
           "cause",
           {.gpu = &CollectRetired}},
    Series{"kgpu_gpu_retired_pages_pending",
           kGauge,
           "Whether a page is retired by the next reset. nvmlDeviceGetRetiredPagesPendingStatus.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::retired, &device::RetiredPages::is_pending>}},
    Series{"kgpu_gpu_pcie_generation", kGauge,
           "PCIe generation in use; it falls while the GPU idles. "
           "nvmlDeviceGetCurrPcieLinkGeneration.",
           "", "", kPcie<&PcieSample::generation>},
    Series{"kgpu_gpu_pcie_generation_limit", kGauge,
           "The highest that GPU and slot can do. nvmlDeviceGetMaxPcieLinkGeneration.", "", "",
           kPcie<&PcieSample::max_generation>},
    Series{"kgpu_gpu_pcie_lanes", kGauge, "PCIe lanes in use. nvmlDeviceGetCurrPcieLinkWidth.", "",
           "", kPcie<&PcieSample::width>},
    Series{"kgpu_gpu_pcie_lanes_limit", kGauge,
           "The most that GPU and slot have. nvmlDeviceGetMaxPcieLinkWidth.", "", "",
           kPcie<&PcieSample::max_width>},
    Series{"kgpu_gpu_pcie_replays_total", kCounter,
           "Packets sent again over PCIe. nvmlDeviceGetPcieReplayCounter.", "", "",
           kPcie<&PcieSample::replays>},
    Series{"kgpu_gpu_pcie_sent_bytes_per_second", kGauge,
           "From the GPU, since the round before; by drivers before 565 of the last 20 ms only. "
           "NVML_FI_DEV_PCIE_COUNT_TX_BYTES, or nvmlDeviceGetPcieThroughput.",
           "", "", kPcie<&PcieSample::sent_bytes_per_second>},
    Series{"kgpu_gpu_pcie_received_bytes_per_second", kGauge,
           "To the GPU, since the round before; by drivers before 565 of the last 20 ms only. "
           "NVML_FI_DEV_PCIE_COUNT_RX_BYTES, or nvmlDeviceGetPcieThroughput.",
           "", "", kPcie<&PcieSample::received_bytes_per_second>},
    Series{"kgpu_gpu_nvlink_active",
           kGauge,
           "Whether the link is up. nvmlDeviceGetNvLinkState.",
           "",
           "link",
           {.gpu = &CollectLinks}},
    Series{"kgpu_gpu_nvlink_errors_total",
           kCounter,
           "Errors of a link. nvmlDeviceGetNvLinkErrorCounter.",
           "",
           "link, type",
           {.gpu = &CollectLinkErrors}},
    Series{"kgpu_gpu_nvlink_sent_bytes_total",
           kCounter,
           "Data sent over a link. NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX.",
           "bytes",
           "link",
           {.gpu = &CollectLinkBytes<&NvLinkSample::sent_bytes>}},
    Series{"kgpu_gpu_nvlink_received_bytes_total",
           kCounter,
           "Data received over a link. NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX.",
           "bytes",
           "link",
           {.gpu = &CollectLinkBytes<&NvLinkSample::received_bytes>}},
    Series{"kgpu_gpu_fabric_state",
           kGauge,
           "0 not supported, 1 not started, 2 in progress, 3 completed. "
           "nvmlDeviceGetGpuFabricInfo.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::fabric_state>}},
    Series{"kgpu_gpu_recovery_action",
           kGauge,
           "What the driver asks for: 0 nothing, 1 a reset, 2 a reboot, 3 to drain the GPU's "
           "links, 4 to drain and reset. NVML_FI_DEV_GET_GPU_RECOVERY_ACTION.",
           "",
           "",
           {.gpu = &Plain<&GpuSample::recovery_action>}},
};

}  // namespace

std::span<const Series> KgpuConditionSeries() {
  return kCondition;
}

}  // namespace kgpu::telemetry
