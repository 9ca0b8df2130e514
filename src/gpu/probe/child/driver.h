// NVML in terms of requests: each function fills one payload with as many driver calls as it
// takes. Any call may fail; missing values are marked field by field. Thread: the probe's main
// thread.
#pragma once

#include "src/gpu/nvml/library.h"
#include "src/gpu/probe/child/channel.h"
#include "src/gpu/probe/protocol.h"

namespace kgpu::probe::child {

class Driver {
 public:
  // Both must outlive the driver.
  Driver(nvml::Library& library, const Channel& channel) : library_(library), channel_(channel) {}

  // Requests after this report their progress under `request_id`.
  void BeginRequest(uint32_t request_id);

  nvml::Return Init(const char* library_path, InitPayload* payload);
  nvml::Return Shutdown() { return Call(nvml::kShutdown); }
  nvml::Return ReadDriver(DriverPayload* payload);
  nvml::Return ReadGpu(uint32_t gpu, GpuPayload* payload);
  nvml::Return ReadMigDevice(uint32_t gpu, uint32_t index, MigPayload* payload);
  nvml::Return ReadNvLinks(uint32_t gpu, NvLinkPayload* payload);
  nvml::Return ReadTopology(uint32_t gpu, TopologyPayload* payload);
  // See Op::kLeaveOut.
  nvml::Return LeaveOut(uint32_t gpu, bool is_left_out);
  nvml::Return Handle(uint32_t gpu, nvml::Device* device) {
    return gpu < kMaxGpus && is_left_out_[gpu] ? nvml::kErrorTimeout
                                               : Call(nvml::kDeviceGetHandleByIndex, gpu, device);
  }

  template <typename Fn, typename... Args>
  nvml::Return Call(const nvml::Function<Fn>& function, Args... args) {
    const nvml::Return result = library_.Call(function, args...);
    NoteProgress();
    return result;
  }

 private:
  void NoteProgress();
  nvml::Return ReadPci(nvml::Device device, GpuPayload* payload);
  nvml::Return ReadMemory(nvml::Device device, GpuPayload* payload);
  void ReadFabric(nvml::Device device, GpuPayload* payload);
  nvml::Return ReadNvLink(nvml::Device device, uint32_t link, NvLinkEntry* entry);
  nvml::Return ReadInstance(uint32_t gpu, MigPayload* payload);

  nvml::Library& library_;
  const Channel& channel_;
  uint32_t request_id_ = 0;
  uint64_t last_progress_ms_ = 0;
  bool is_left_out_[kMaxGpus] = {};
};

}  // namespace kgpu::probe::child
