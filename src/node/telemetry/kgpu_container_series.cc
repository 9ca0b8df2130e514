// kgpu_container_*, kgpu_process_*, kgpu_pod_*: who uses the GPUs.
#include <array>
#include <chrono>
#include <map>

#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::ProcessSample;
using enum metrics::Type;

constexpr double kContainerPercent = 100;
constexpr double kGibi = 1024.0 * 1024 * 1024;

template <auto field, double divisor = 1.0>
void OfContainer(const ContainerView& view, Values& out) {
  out.Divided(view.use->*field, divisor);
}

template <auto field, double divisor = 1.0>
void OfProcess(const ProcessView& view, Values& out) {
  out.Divided(view.use->process->*field, divisor);
}

void CollectProcesses(const ContainerView& view, Values& out) {
  // If the owners of the processes are unknown, no sample is reported, rather than 0.
  if (view.use->memory || view.use->processes > 0) {
    out.Put(view.use->processes);
  }
}

void CollectDevices(const PageViews& views, Values& out) {
  for (const ResourceUse& use : views.resources()) {
    out.Put({{"namespace", use.user.pod_namespace},
             {"pod", use.user.pod},
             {"container", use.user.container},
             {"resource", use.resource}},
            use.count);
  }
}

template <auto field, double factor = 1.0>
void OfPods(const PageViews& views, Values& out) {
  if (!views.input().usage) {
    return;
  }
  for (const PodUse& use : *views.input().usage) {
    out.PutTimes({{"namespace", use.pod_namespace}, {"pod", use.pod}}, Follow<field>(use), factor);
  }
}

constexpr std::array kContainer = {
    Series{"kgpu_container_devices", kGauge,
           "Devices of a resource allocated to the container. The kubelet's pod resources.", "",
           "namespace, pod, container, resource", Only(&CollectDevices)},
    Series{"kgpu_container_processes", kGauge,
           "Processes of the container on the device. NVML's lists of processes, and cgroups.", "",
           "", Only(&CollectProcesses)},
    Series{
        "kgpu_container_memory_used_bytes", kGauge,
        "Device memory used by the container's processes. NVML's lists of processes, and cgroups.",
        "bytes", "", Only(&OfContainer<&ContainerUse::memory>)},
    Series{"kgpu_container_sm_utilization_ratio", kGauge,
           "Share of time during which SMs ran the container's kernels. "
           "nvmlDeviceGetProcessUtilization.",
           "ratio", "", Only(&OfContainer<&ContainerUse::sm, kContainerPercent>)},
    Series{"kgpu_container_memory_utilization_ratio", kGauge,
           "Share of time during which the container read or wrote memory. "
           "nvmlDeviceGetProcessUtilization.",
           "ratio", "", Only(&OfContainer<&ContainerUse::memory_utilization, kContainerPercent>)},
    Series{"kgpu_container_encoder_utilization_ratio", kGauge,
           "The container's use of the video encoder. nvmlDeviceGetProcessUtilization.", "ratio",
           "", Only(&OfContainer<&ContainerUse::encoder, kContainerPercent>)},
    Series{"kgpu_container_decoder_utilization_ratio", kGauge,
           "The container's use of the video decoder. nvmlDeviceGetProcessUtilization.", "ratio",
           "", Only(&OfContainer<&ContainerUse::decoder, kContainerPercent>)},
    Series{"kgpu_process_memory_used_bytes", kGauge,
           "Device memory of a process; the 64 largest of each GPU. NVML's lists of processes.",
           "bytes", "pid, kind", Only(&OfProcess<&ProcessSample::memory>)},
    Series{"kgpu_process_sm_utilization_ratio", kGauge,
           "Share of time during which SMs ran the process's kernels. "
           "nvmlDeviceGetProcessUtilization.",
           "ratio", "pid, kind", Only(&OfProcess<&ProcessSample::sm, kContainerPercent>)},
    Series{"kgpu_process_memory_utilization_ratio", kGauge,
           "Share of time during which the process read or wrote memory. "
           "nvmlDeviceGetProcessUtilization.",
           "ratio", "pid, kind",
           Only(&OfProcess<&ProcessSample::memory_utilization, kContainerPercent>)},
    Series{"kgpu_process_encoder_utilization_ratio", kGauge,
           "The process's use of the video encoder. nvmlDeviceGetProcessUtilization.", "ratio",
           "pid, kind", Only(&OfProcess<&ProcessSample::encoder, kContainerPercent>)},
    Series{"kgpu_process_decoder_utilization_ratio", kGauge,
           "The process's use of the video decoder. nvmlDeviceGetProcessUtilization.", "ratio",
           "pid, kind", Only(&OfProcess<&ProcessSample::decoder, kContainerPercent>)},
    Series{"kgpu_pod_gpu_seconds_total", kCounter,
           "GPU time allocated to the pod; one of n slots counts as 1/n. The kubelet's list over "
           "time.",
           "seconds", "namespace, pod", Only(&OfPods<&PodUse::gpu_seconds>)},
    Series{
        "kgpu_pod_gpu_busy_seconds_total", kCounter,
        "GPU time used by the pod: utilization over time; absent if the driver does not report it.",
        "seconds", "namespace, pod", Only(&OfPods<&PodUse::busy_gpu_seconds>)},
    Series{"kgpu_pod_gpu_memory_byte_seconds_total", kCounter,
           "Device memory used by the pod, over time.", "", "namespace, pod",
           Only(&OfPods<&PodUse::memory_gib_seconds, kGibi>)},
};

void CollectDriver(const PageViews& views, Values& out) {
  if (!views.input().snapshot) {
    return;
  }
  const device::Driver& driver = views.input().snapshot->driver;
  std::string cuda;
  if (driver.cuda_major && driver.cuda_minor) {
    cuda = fmt::format("{}.{}", *driver.cuda_major, *driver.cuda_minor);
  }
  out.Put({{"version", driver.version}, {"nvml", driver.nvml_version}, {"cuda", cuda}}, 1);
}

void CollectGpus(const PageViews& views, Values& out) {
  if (!views.input().snapshot) {
    return;
  }
  out.Put({{"managed", "yes"}, {"driver", "nvidia"}},
          static_cast<double>(views.input().snapshot->gpus.size()));
  std::map<std::string_view, unsigned> others;
  for (const device::UnmanagedGpu& gpu : views.input().snapshot->unmanaged) {
    ++others[gpu.kernel_driver.empty() ? "none" : std::string_view(gpu.kernel_driver)];
  }
  for (const auto& [driver, count] : others) {
    out.Put({{"managed", "no"}, {"driver", driver}}, count);
  }
}

void CollectTaken(const PageViews& views, Values& out) {
  if (const auto& measured = views.input().measured) {
    out.Put(std::chrono::duration<double>(measured->time_since_epoch()).count());
  }
}

void CollectPodsKnown(const PageViews& views, Values& out) {
  if (views.input().pods) {
    out.Put(views.input().pods->problem.empty() ? 1 : 0);
  }
}

void CollectUnknownXids(const PageViews& views, Values& out) {
  if (views.input().health) {
    out.Put(static_cast<double>(views.input().health->counters.xids_of_unknown_gpu));
  }
}

void CollectKernelLog(const PageViews& views, Values& out) {
  if (views.input().health) {
    out.Put(views.input().health->kernel_log_problem.empty() ? 1 : 0);
  }
}

constexpr std::array kNode = {
    Series{"kgpu_driver_info", kInfo, "The NVIDIA driver; always 1. NVML.", "",
           "version, nvml, cuda", Only(&CollectDriver)},
    Series{"kgpu_gpus", kGauge,
           "GPUs of the node: those reported by NVML, and others on the PCI bus by kernel driver "
           "(vfio-pci: GPUs of virtual machines).",
           "", "managed, driver", Only(&CollectGpus)},
    Series{"kgpu_sample_timestamp_seconds", kGauge,
           "Unix time of the last measurement; kept when the values are too old to be exported.",
           "seconds", "", Only(&CollectTaken)},
    Series{"kgpu_xids_of_unknown_gpu_total", kCounter,
           "XIDs without a GPU since the agent started counting. NVML, and the kernel log.", "", "",
           Only(&CollectUnknownXids)},
    Series{"kgpu_kernel_log_ok", kGauge,
           "Whether the kernel log is read for XIDs, or disabled. /dev/kmsg.", "", "",
           Only(&CollectKernelLog)},
    Series{"kgpu_pods_known", kGauge,
           "Whether the devices of each container are known. The kubelet's pod resources, and the "
           "container runtime.",
           "", "", Only(&CollectPodsKnown)},
};

}  // namespace

std::span<const Series> KgpuContainerSeries() {
  return kContainer;
}

std::span<const Series> KgpuNodeSeries() {
  return kNode;
}

}  // namespace kgpu::telemetry
