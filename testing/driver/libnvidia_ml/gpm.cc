// GPM: counters of a GPU or of a GPU instance, and what happened between two samples of them.
// Hopper and newer. A metric has the value of the newer sample's moment.
#include <cstdlib>

#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

using nvml::GpmSample;
using nvml::kErrorInvalidArgument;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

constexpr uint64_t kSampleMagic = 0x6d70676b;  // "kgpm"
constexpr uint32_t kWholeGpu = kUnsupported;

// The object behind a handle from nvmlGpmSampleAlloc.
struct HeldSample {
  uint64_t magic;
  uint64_t taken_ns;  // 0: not taken yet
  uint32_t slot;
  uint32_t gpu_instance;  // or kWholeGpu
  double percent[16];     // by nvml::kGpm…
  double mebi_per_second[64];
};

HeldSample* Held(GpmSample sample) {
  auto* held = reinterpret_cast<HeldSample*>(sample);
  return held != nullptr && held->magic == kSampleMagic ? held : nullptr;
}

double OrElse(uint32_t percent, double otherwise) {
  return percent == kUnsupported ? otherwise : percent;
}
double Known(uint32_t percent) {
  return percent == kUnsupported ? 0 : percent;
}

// How busy the processes of a GPU instance are; of the whole GPU its own utilisation.
double BusyPercent(const SimGpu& gpu, uint32_t gpu_instance) {
  if (gpu_instance == kWholeGpu) {
    return Known(gpu.utilization.gpu);
  }
  double total = 0;
  for (const SimProcess& process : gpu.processes) {
    total += process.pid != 0 && process.gpu_instance == gpu_instance ? process.sm_util : 0;
  }
  return total < 100 ? total : 100;
}

void Take(const SimGpu& gpu, HeldSample& held) {
  const SimGpm& gpm = gpu.gpm;
  double busy = BusyPercent(gpu, held.gpu_instance);
  held.percent[nvml::kGpmGraphicsUtil] = OrElse(gpm.graphics, busy);
  held.percent[nvml::kGpmSmUtil] = OrElse(gpm.sm, busy);
  held.percent[nvml::kGpmSmOccupancy] = OrElse(gpm.occupancy, busy / 2);
  held.percent[nvml::kGpmAnyTensorUtil] = OrElse(gpm.tensor, 0);
  held.percent[nvml::kGpmFp64Util] = OrElse(gpm.fp64, 0);
  held.percent[nvml::kGpmFp32Util] = OrElse(gpm.fp32, 0);
  held.percent[nvml::kGpmFp16Util] = OrElse(gpm.fp16, 0);
  held.percent[nvml::kGpmDramBandwidthUtil] = OrElse(gpm.dram, Known(gpu.utilization.memory));
  held.mebi_per_second[nvml::kGpmPcieTx] = Known(gpu.pcie.tx_kib_s) / 1024;
  held.mebi_per_second[nvml::kGpmPcieRx] = Known(gpu.pcie.rx_kib_s) / 1024;
  uint32_t links = 0;
  for (const SimNvLink& link : gpu.nvlinks) {
    links += link.is_active;
  }
  held.mebi_per_second[nvml::kGpmNvLinkTotalTx] = Known(gpu.nvlink_tx_kib_s) * links / 1024;
  held.mebi_per_second[nvml::kGpmNvLinkTotalRx] = Known(gpu.nvlink_rx_kib_s) * links / 1024;
  held.taken_ns = NowBootNs();
}

Return TakeSample(const char* name, Device device, uint32_t gpu_instance, GpmSample sample) {
  HeldSample* held = Held(sample);
  Target target;
  Return checked = CheckArguments(held != nullptr, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  return GpuCall(name, device, true, [&](const SimGpu& gpu) {
    if (gpu.gpm.is_capable == 0) {
      return kErrorNotSupported;
    }
    if (gpu_instance != kWholeGpu && FindGpuInstance(gpu, gpu_instance) == nullptr) {
      return kErrorInvalidArgument;
    }
    held->slot = target.slot;
    held->gpu_instance = gpu_instance;
    Take(gpu, *held);
    return kSuccess;
  });
}

void FillMetric(const HeldSample& newer, nvml::GpmMetric& metric) {
  metric.nvml_return = kSuccess;
  metric.short_name = metric.long_name = metric.unit = "";
  switch (metric.id) {
    case nvml::kGpmGraphicsUtil:
    case nvml::kGpmSmUtil:
    case nvml::kGpmSmOccupancy:
    case nvml::kGpmAnyTensorUtil:
    case nvml::kGpmDramBandwidthUtil:
    case nvml::kGpmFp64Util:
    case nvml::kGpmFp32Util:
    case nvml::kGpmFp16Util:
      metric.value = newer.percent[metric.id];
      return;
    case nvml::kGpmPcieTx:
    case nvml::kGpmPcieRx:
    case nvml::kGpmNvLinkTotalTx:
    case nvml::kGpmNvLinkTotalRx:
      // For the whole GPU; an instance has no share of the links.
      metric.nvml_return = newer.gpu_instance == kWholeGpu ? kSuccess : kErrorNotSupported;
      metric.value = newer.mebi_per_second[metric.id];
      return;
    default:
      metric.nvml_return = kErrorNotSupported;
  }
}

}  // namespace

KGPU_NVML nvmlGpmQueryDeviceSupport(Device device, nvml::GpmSupport* support) {
  return GpuCall("nvmlGpmQueryDeviceSupport", device, support != nullptr, [&](const SimGpu& gpu) {
    if (support->version != nvml::kGpmSupportVersion) {
      return nvml::kErrorArgumentVersionMismatch;
    }
    support->is_supported = gpu.gpm.is_capable;
    return kSuccess;
  });
}

KGPU_NVML nvmlGpmSampleAlloc(GpmSample* sample) {
  // Not within the read of the state: that may be repeated.
  Return checked = SystemCall("nvmlGpmSampleAlloc", sample != nullptr,
                              [](const Session&, const SimState&) { return kSuccess; });
  if (checked != kSuccess) {
    return checked;
  }
  auto* held = static_cast<HeldSample*>(calloc(1, sizeof(HeldSample)));
  if (held == nullptr) {
    return nvml::kErrorMemory;
  }
  held->magic = kSampleMagic;
  *sample = reinterpret_cast<GpmSample>(held);
  return kSuccess;
}

KGPU_NVML nvmlGpmSampleFree(GpmSample sample) {
  HeldSample* held = Held(sample);
  if (held == nullptr) {
    return kErrorInvalidArgument;
  }
  held->magic = 0;
  free(held);
  return kSuccess;
}

KGPU_NVML nvmlGpmSampleGet(Device device, GpmSample sample) {
  return TakeSample("nvmlGpmSampleGet", device, kWholeGpu, sample);
}

KGPU_NVML nvmlGpmMigSampleGet(Device device, uint32_t gpu_instance, GpmSample sample) {
  return TakeSample("nvmlGpmMigSampleGet", device, gpu_instance, sample);
}

KGPU_NVML nvmlGpmMetricsGet(nvml::GpmMetrics* metrics) {
  const HeldSample* older = metrics == nullptr ? nullptr : Held(metrics->older);
  const HeldSample* newer = metrics == nullptr ? nullptr : Held(metrics->newer);
  return SystemCall("nvmlGpmMetricsGet", older != nullptr && newer != nullptr,
                    [&](const Session&, const SimState&) {
                      if (metrics->version != nvml::kGpmMetricsVersion) {
                        return nvml::kErrorArgumentVersionMismatch;
                      }
                      bool is_pair = older->slot == newer->slot &&
                                     older->gpu_instance == newer->gpu_instance &&
                                     older->taken_ns != 0 && newer->taken_ns > older->taken_ns;
                      if (!is_pair || metrics->count > nvml::kMaxGpmMetrics) {
                        return kErrorInvalidArgument;
                      }
                      for (uint32_t i = 0; i < metrics->count; ++i) {
                        FillMetric(*newer, metrics->metrics[i]);
                      }
                      return kSuccess;
                    });
}

}  // namespace kgpu::sim
