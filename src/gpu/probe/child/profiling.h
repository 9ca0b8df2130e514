// GPM metrics of one GPU and of its GPU instances: for each a pair of samples, since a metric is
// what happened between two of them.
#pragma once

#include "src/gpu/nvml/sample_functions.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/sample_protocol.h"

namespace kgpu::probe::child {

inline constexpr uint32_t kMaxGpuInstances = 16;  // ids of one GPU

// Part of the state of one GPU: plain data, zeroed at first.
class Profiling {
 public:
  // Begins a round: pairs of instances that nobody asked for in the last one are freed.
  void BeginRound(Driver& driver);
  // What happened since the round before. True when values are missing because this is the first.
  bool ReadGpu(Driver& driver, nvml::Device device, ProfilingValues* values);
  // The same for a GPU instance of `parent`, once a round: compute instances share the answer.
  void ReadInstance(Driver& driver, nvml::Device parent, uint32_t gpu_instance,
                    ProfilingValues* values);
  void FreeAll(Driver& driver);

 private:
  struct Pair {
    nvml::GpmSample older;
    nvml::GpmSample newer;
    bool has_newer;
    bool has_values;
    bool is_used;       // in this round
    uint64_t taken_us;  // the newer one
    ProfilingValues values;
  };
  enum class Support : uint8_t { kUnknown, kYes, kNo };

  bool IsSupported(Driver& driver, nvml::Device device);
  // `take` fills a sample and answers an nvml::Return.
  template <typename Take>
  static bool Advance(Driver& driver, Pair& pair, Take take);
  static void Free(Driver& driver, Pair& pair);

  Support support_;
  Pair gpu_;
  Pair instances_[kMaxGpuInstances];
};

}  // namespace kgpu::probe::child
