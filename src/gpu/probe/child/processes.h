// The processes of a GPU: compute, graphics and MPS clients in one list, each with its GPU use
// since the last read. The list is kept until the next Read, so that it can be sent in pages.
#pragma once

#include "src/gpu/nvml/sample_functions.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/sample_protocol.h"

namespace kgpu::probe::child {

class Processes {
 public:
  explicit Processes(Driver& driver) : driver_(driver) {}

  // Reads the list of `device`, GPU `gpu`. `seen_us` is the time stamp of the newest utilisation
  // sample seen on that GPU, and is updated.
  nvml::Return Read(uint32_t gpu, nvml::Device device, uint64_t* seen_us);
  // A page of the list read last. NotFound if that list is another GPU's.
  nvml::Return Page(uint32_t gpu, uint32_t page, ProcessPayload* payload) const;

 private:
  static constexpr uint32_t kMaxListed = 1024;  // per driver call
  static constexpr uint32_t kMaxSamples = 2048;

  template <typename Fn, typename FnV1>
  nvml::Return List(nvml::Device device, uint32_t kind, const nvml::Function<Fn>& function,
                    const nvml::Function<FnV1>& older);
  void Add(const nvml::ProcessInfo& info, uint32_t kind);
  void ReadUtilization(nvml::Device device, uint64_t* seen_us);
  void Apply(const nvml::ProcessUtilizationSample& sample, uint64_t* newest_us);

  // Output of driver calls: large, and mostly never touched.
  union Scratch {
    nvml::ProcessInfo infos[kMaxListed];
    nvml::ProcessInfoV1 older_infos[kMaxListed];
    nvml::ProcessUtilizationSample samples[kMaxSamples];
  };

  Driver& driver_;
  Scratch* scratch_ = nullptr;  // created by the first Read, never freed
  uint32_t gpu_ = kMaxGpus;     // the GPU that the list belongs to
  uint32_t count_ = 0;
  ProcessEntry list_[kMaxProcesses] = {};
  uint64_t used_us_[kMaxProcesses] = {};  // time stamp of each one's utilisation
};

}  // namespace kgpu::probe::child
