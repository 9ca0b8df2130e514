#include "src/gpu/probe/child/processes.h"

#include <cstdlib>
#include <cstring>

namespace kgpu::probe::child {
namespace {

uint8_t Percent(uint32_t value) {
  return value > 100 ? 100 : static_cast<uint8_t>(value);
}

bool IsLost(nvml::Return result) {
  return result == nvml::kErrorGpuIsLost;
}

}  // namespace

void Processes::Add(const nvml::ProcessInfo& info, uint32_t kind) {
  if (info.pid == 0) {
    return;
  }
  for (uint32_t i = 0; i < count_; ++i) {
    // One process may be in two lists: that asked first says what it is.
    if (list_[i].pid == info.pid && list_[i].gpu_instance == info.gpu_instance_id &&
        list_[i].compute_instance == info.compute_instance_id) {
      return;
    }
  }
  if (count_ < kMaxProcesses) {
    used_us_[count_] = 0;
    list_[count_++] = {.pid = info.pid,
                       .kind = kind,
                       .gpu_instance = info.gpu_instance_id,
                       .compute_instance = info.compute_instance_id,
                       .memory = info.used_gpu_memory,
                       .has_utilization = 0,
                       .sm = 0,
                       .memory_utilization = 0,
                       .encoder = 0,
                       .decoder = 0,
                       .reserved = {}};
  }
}

template <typename Fn, typename FnV1>
nvml::Return Processes::List(nvml::Device device, uint32_t kind, const nvml::Function<Fn>& function,
                             const nvml::Function<FnV1>& older) {
  uint32_t count = kMaxListed;
  nvml::Return result = driver_.Call(function, device, &count, scratch_->infos);
  if (result == nvml::kErrorFunctionNotFound) {
    count = kMaxListed;
    result = driver_.Call(older, device, &count, scratch_->older_infos);
    for (uint32_t i = 0; result == nvml::kSuccess && i < count && i < kMaxListed; ++i) {
      const nvml::ProcessInfoV1& info = scratch_->older_infos[i];
      Add({.pid = info.pid,
           .used_gpu_memory = info.used_gpu_memory,
           .gpu_instance_id = nvml::kNoInstance,
           .compute_instance_id = nvml::kNoInstance},
          kind);
    }
    return result;
  }
  for (uint32_t i = 0; result == nvml::kSuccess && i < count && i < kMaxListed; ++i) {
    Add(scratch_->infos[i], kind);
  }
  return result;
}

void Processes::Apply(const nvml::ProcessUtilizationSample& sample, uint64_t* newest_us) {
  *newest_us = sample.timestamp_us > *newest_us ? sample.timestamp_us : *newest_us;
  for (uint32_t i = 0; i < count_; ++i) {
    if (list_[i].pid == sample.pid && list_[i].has_utilization != 0 &&
        sample.timestamp_us >= used_us_[i]) {
      used_us_[i] = sample.timestamp_us;
      list_[i].sm = Percent(sample.sm);
      list_[i].memory_utilization = Percent(sample.memory);
      list_[i].encoder = Percent(sample.encoder);
      list_[i].decoder = Percent(sample.decoder);
    }
  }
}

// A process without a sample since the last look did nothing. The driver counts the work of MPS
// clients as their server's, and answers "not supported" while the GPU is cut into MIG devices.
void Processes::ReadUtilization(nvml::Device device, uint64_t* seen_us) {
  uint32_t count = kMaxSamples;
  const nvml::Return result =
      driver_.Call(nvml::kDeviceGetProcessUtilization, device, scratch_->samples, &count, *seen_us);
  if (result != nvml::kSuccess && result != nvml::kErrorNotFound) {
    return;
  }
  for (uint32_t i = 0; i < count_; ++i) {
    list_[i].has_utilization = list_[i].kind == kProcessMps ? 0 : 1;
  }
  uint64_t newest_us = *seen_us;
  for (uint32_t i = 0; result == nvml::kSuccess && i < count && i < kMaxSamples; ++i) {
    Apply(scratch_->samples[i], &newest_us);
  }
  *seen_us = newest_us;
}

nvml::Return Processes::Read(uint32_t gpu, nvml::Device device, uint64_t* seen_us) {
  count_ = 0;
  gpu_ = gpu;
  if (scratch_ == nullptr) {
    scratch_ = static_cast<Scratch*>(calloc(1, sizeof(Scratch)));
  }
  if (scratch_ == nullptr) {
    return nvml::kErrorMemory;
  }
  // MPS first: its clients may be in the list of compute processes as well.
  const nvml::Return mps =
      List(device, kProcessMps, nvml::kDeviceGetMpsProcesses, nvml::kDeviceGetMpsProcessesV1);
  const nvml::Return compute = List(device, kProcessCompute, nvml::kDeviceGetComputeProcesses,
                                    nvml::kDeviceGetComputeProcessesV1);
  const nvml::Return graphics = List(device, kProcessGraphics, nvml::kDeviceGetGraphicsProcesses,
                                     nvml::kDeviceGetGraphicsProcessesV1);
  if (IsLost(mps) || IsLost(compute) || IsLost(graphics)) {
    return nvml::kErrorGpuIsLost;
  }
  ReadUtilization(device, seen_us);
  return nvml::kSuccess;
}

nvml::Return Processes::Page(uint32_t gpu, uint32_t page, ProcessPayload* payload) const {
  if (gpu != gpu_ || page > kMaxProcesses / kProcessesPerPage) {
    return nvml::kErrorNotFound;
  }
  const uint32_t first = page * kProcessesPerPage;
  const uint32_t left = first < count_ ? count_ - first : 0;
  payload->count = left < kProcessesPerPage ? left : kProcessesPerPage;
  payload->has_more = left > payload->count ? 1 : 0;
  memcpy(payload->processes, list_ + first, payload->count * sizeof(ProcessEntry));
  return nvml::kSuccess;
}

}  // namespace kgpu::probe::child
