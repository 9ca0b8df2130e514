// Memory, and the processes that use it.
#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/memory_info.h"
#include "testing/driver/libnvidia_ml/mig_profiles.h"

namespace kgpu::sim {

using nvml::kErrorNotFound;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

bool RunsOn(const SimProcess& process, const Target& target) {
  return process.pid != 0 &&
         (!target.is_mig || (process.gpu_instance == target.gpu_instance &&
                             process.compute_instance == target.compute_instance));
}

uint64_t UsedByProcesses(const SimGpu& gpu, const Target& target) {
  uint64_t used = 0;
  for (const SimProcess& process : gpu.processes) {
    bool shares_memory =
        process.pid != 0 && (!target.is_mig || process.gpu_instance == target.gpu_instance);
    used += shares_memory ? process.used_bytes : 0;
  }
  return used;
}

namespace {

// As nvmlMemory_v2_t counts: reserved is no part of used.
struct MemoryUse {
  uint64_t total;
  uint64_t reserved;
  uint64_t used;
};

MemoryUse CountMemory(const SimGpu& gpu, const Target& target) {
  MemoryUse use{.total = gpu.memory_total, .reserved = gpu.memory_reserved, .used = 0};
  use.used = UsedByProcesses(gpu, target);
  if (!target.is_mig) {
    use.used += gpu.memory_used;
  } else if (const SimMigProfile* profile = ProfileOfInstance(gpu, target.gpu_instance)) {
    use.total = profile->memory_mib << 20;
    use.reserved = 0;
  }
  use.used = use.used < use.total - use.reserved ? use.used : use.total - use.reserved;
  return use;
}

}  // namespace

KGPU_NVML nvmlDeviceGetMemoryInfo(Device device, nvml::Memory* memory) {
  return DeviceCall("nvmlDeviceGetMemoryInfo", device, memory != nullptr,
                    [&](const SimGpu& gpu, const Target& target) {
                      MemoryUse use = CountMemory(gpu, target);
                      *memory = {.total = use.total,
                                 .free = use.total - use.reserved - use.used,
                                 .used = use.reserved + use.used};
                      return kSuccess;
                    });
}

KGPU_NVML nvmlDeviceGetMemoryInfo_v2(Device device, nvml::MemoryV2* memory) {
  return DeviceCall("nvmlDeviceGetMemoryInfo", device, memory != nullptr,
                    [&](const SimGpu& gpu, const Target& target) {
                      if (memory->version != nvml::kMemoryV2Version) {
                        return nvml::kErrorArgumentVersionMismatch;
                      }
                      MemoryUse use = CountMemory(gpu, target);
                      memory->total = use.total;
                      memory->reserved = use.reserved;
                      memory->free = use.total - use.reserved - use.used;
                      memory->used = use.used;
                      return kSuccess;
                    });
}

KGPU_NVML nvmlDeviceGetBAR1MemoryInfo(Device device, nvml::Bar1Memory* memory) {
  return DeviceCall("nvmlDeviceGetBAR1MemoryInfo", device, memory != nullptr,
                    [&](const SimGpu& gpu, const Target&) {
                      if (gpu.bar1_total == kUnsupported64) {
                        return kErrorNotSupported;
                      }
                      *memory = {.total = gpu.bar1_total,
                                 .free = gpu.bar1_total - gpu.bar1_used,
                                 .used = gpu.bar1_used};
                      return kSuccess;
                    });
}

KGPU_NVML nvmlDeviceGetMemoryBusWidth(Device device, uint32_t* bits) {
  return GetValue("nvmlDeviceGetMemoryBusWidth", device, bits,
                  [](const SimGpu& gpu) { return gpu.memory_bus_width; });
}

namespace {

void FillProcess(const SimProcess& process, nvml::ProcessInfoV1& out) {
  out.pid = process.pid;
  out.used_gpu_memory = process.used_bytes;
}

void FillProcess(const SimProcess& process, nvml::ProcessInfo& out) {
  out = {.pid = process.pid,
         .used_gpu_memory = process.used_bytes,
         .gpu_instance_id = process.gpu_instance,
         .compute_instance_id = process.compute_instance};
}

template <typename Info>
Return ListProcesses(const char* name, Device device, ProcessKind kind, uint32_t* count,
                     Info* infos) {
  if (count == nullptr) {
    return DeviceCall(name, device, false, [](const SimGpu&, const Target&) { return kSuccess; });
  }
  ListWriter writer(count, infos != nullptr);
  return DeviceCall(name, device, true, [&](const SimGpu& gpu, const Target& target) {
    writer.Clear();
    for (const SimProcess& process : gpu.processes) {
      if (process.kind != kind || !RunsOn(process, target)) {
        continue;
      }
      if (int64_t at = writer.Next(); at >= 0) {
        FillProcess(process, infos[at]);
      }
    }
    return writer.Finish();
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetComputeRunningProcesses_v3(Device device, uint32_t* count,
                                                  nvml::ProcessInfo* infos) {
  return ListProcesses("nvmlDeviceGetComputeRunningProcesses", device, kCompute, count, infos);
}
KGPU_NVML nvmlDeviceGetComputeRunningProcesses_v2(Device, uint32_t*, nvml::ProcessInfo*)
    KGPU_NVML_ALIAS(nvmlDeviceGetComputeRunningProcesses_v3);
KGPU_NVML nvmlDeviceGetComputeRunningProcesses(Device device, uint32_t* count,
                                               nvml::ProcessInfoV1* infos) {
  return ListProcesses("nvmlDeviceGetComputeRunningProcesses", device, kCompute, count, infos);
}

KGPU_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, uint32_t* count,
                                                   nvml::ProcessInfo* infos) {
  return ListProcesses("nvmlDeviceGetGraphicsRunningProcesses", device, kGraphics, count, infos);
}
KGPU_NVML nvmlDeviceGetGraphicsRunningProcesses_v2(Device, uint32_t*, nvml::ProcessInfo*)
    KGPU_NVML_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3);
KGPU_NVML nvmlDeviceGetGraphicsRunningProcesses(Device device, uint32_t* count,
                                                nvml::ProcessInfoV1* infos) {
  return ListProcesses("nvmlDeviceGetGraphicsRunningProcesses", device, kGraphics, count, infos);
}

KGPU_NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, uint32_t* count,
                                                     nvml::ProcessInfo* infos) {
  return ListProcesses("nvmlDeviceGetMPSComputeRunningProcesses", device, kMps, count, infos);
}
KGPU_NVML nvmlDeviceGetMPSComputeRunningProcesses_v2(Device, uint32_t*, nvml::ProcessInfo*)
    KGPU_NVML_ALIAS(nvmlDeviceGetMPSComputeRunningProcesses_v3);
KGPU_NVML nvmlDeviceGetMPSComputeRunningProcesses(Device device, uint32_t* count,
                                                  nvml::ProcessInfoV1* infos) {
  return ListProcesses("nvmlDeviceGetMPSComputeRunningProcesses", device, kMps, count, infos);
}

// A process is sampled whenever it is looked at: the driver samples all the time.
KGPU_NVML nvmlDeviceGetProcessUtilization(Device device, nvml::ProcessUtilizationSample* samples,
                                          uint32_t* count, uint64_t last_seen_us) {
  if (count == nullptr) {
    return GpuCall("nvmlDeviceGetProcessUtilization", device, false,
                   [](const SimGpu&) { return kSuccess; });
  }
  ListWriter writer(count, samples != nullptr);
  return GpuCall("nvmlDeviceGetProcessUtilization", device, true, [&](const SimGpu& gpu) {
    writer.Clear();
    uint64_t now = NowUs();
    if (gpu.mig.is_capable != 0 && gpu.mig.mode != 0) {
      return kErrorNotSupported;
    }
    bool is_any = false;
    for (const SimProcess& process : gpu.processes) {
      // The driver counts the work of MPS clients as their server's.
      if (process.pid == 0 || process.kind == kMps || now <= last_seen_us) {
        continue;
      }
      is_any = true;
      if (int64_t at = writer.Next(); at >= 0) {
        samples[at] = {.pid = process.pid,
                       .timestamp_us = now,
                       .sm = process.sm_util,
                       .memory = process.mem_util,
                       .encoder = process.enc_util,
                       .decoder = process.dec_util};
      }
    }
    Return result = writer.Finish();
    return is_any ? result : kErrorNotFound;
  });
}

KGPU_NVML nvmlDeviceGetUtilizationRates(Device device, nvml::Utilization* rates) {
  return GpuCall("nvmlDeviceGetUtilizationRates", device, rates != nullptr, [&](const SimGpu& gpu) {
    bool is_mig = gpu.mig.is_capable != 0 && gpu.mig.mode != 0;
    if (is_mig || gpu.utilization.gpu == kUnsupported) {
      return kErrorNotSupported;
    }
    *rates = {.gpu = gpu.utilization.gpu, .memory = gpu.utilization.memory};
    return kSuccess;
  });
}

namespace {

constexpr uint32_t kSamplingPeriodUs = 167'000;

template <typename Get>
Return EngineUtilization(const char* name, Device device, uint32_t* percent, uint32_t* period_us,
                         Get&& get) {
  return GpuCall(name, device, percent != nullptr && period_us != nullptr, [&](const SimGpu& gpu) {
    *period_us = kSamplingPeriodUs;
    return Put(get(gpu.utilization), percent);
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetEncoderUtilization(Device device, uint32_t* percent, uint32_t* period_us) {
  return EngineUtilization("nvmlDeviceGetEncoderUtilization", device, percent, period_us,
                           [](const SimUtilization& all) { return all.encoder; });
}
KGPU_NVML nvmlDeviceGetDecoderUtilization(Device device, uint32_t* percent, uint32_t* period_us) {
  return EngineUtilization("nvmlDeviceGetDecoderUtilization", device, percent, period_us,
                           [](const SimUtilization& all) { return all.decoder; });
}
KGPU_NVML nvmlDeviceGetJpgUtilization(Device device, uint32_t* percent, uint32_t* period_us) {
  return EngineUtilization("nvmlDeviceGetJpgUtilization", device, percent, period_us,
                           [](const SimUtilization& all) { return all.jpeg; });
}
KGPU_NVML nvmlDeviceGetOfaUtilization(Device device, uint32_t* percent, uint32_t* period_us) {
  return EngineUtilization("nvmlDeviceGetOfaUtilization", device, percent, period_us,
                           [](const SimUtilization& all) { return all.ofa; });
}

KGPU_NVML nvmlDeviceGetDynamicPstatesInfo(Device device, nvml::DynamicPstates* info) {
  return GpuCall("nvmlDeviceGetDynamicPstatesInfo", device, info != nullptr,
                 [&](const SimGpu& gpu) {
                   *info = {};
                   info->utilization[0].is_present = 1;
                   info->utilization[0].percentage = gpu.utilization.gpu;
                   info->utilization[1].is_present = 1;
                   info->utilization[1].percentage = gpu.utilization.memory;
                   return kSuccess;
                 });
}

// No encoder or capture session is ever running.
KGPU_NVML nvmlDeviceGetEncoderStats(Device device, uint32_t* sessions, uint32_t* fps,
                                    uint32_t* latency) {
  return GpuCall("nvmlDeviceGetEncoderStats", device,
                 sessions != nullptr && fps != nullptr && latency != nullptr, [&](const SimGpu&) {
                   *sessions = *fps = *latency = 0;
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetEncoderSessions(Device device, uint32_t* count, void*) {
  return GpuCall("nvmlDeviceGetEncoderSessions", device, count != nullptr, [&](const SimGpu&) {
    *count = 0;
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetFBCStats(Device device, nvml::FbcStats* stats) {
  return GpuCall("nvmlDeviceGetFBCStats", device, stats != nullptr, [&](const SimGpu&) {
    *stats = {};
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetFBCSessions(Device device, uint32_t* count, void*) {
  return GpuCall("nvmlDeviceGetFBCSessions", device, count != nullptr, [&](const SimGpu&) {
    *count = 0;
    return kSuccess;
  });
}

}  // namespace kgpu::sim
