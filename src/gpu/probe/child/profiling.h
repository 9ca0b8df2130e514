// GPM metrics of one GPU and its GPU instances: keeps a pair of samples for each, since a metric
// describes the time between two samples.
#pragma once

#include "src/gpu/nvml/sample_functions.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/sample_protocol.h"

namespace kgpu::probe::child {

inline constexpr uint32_t kMaxGpuInstances = 16;  // ids per GPU

// Part of the state of one GPU: plain data, initially zero.
class Profiling {
 public:
  // Starts a round: frees the pairs of instances that the last round did not ask for.
  void BeginRound(Driver& driver);
  // The metrics since the last round. True if values are missing because this is the first.
  bool ReadGpu(Driver& driver, nvml::Device device, ProfilingValues* values);
  // The same for a GPU instance of `parent`, once per round: compute instances share the result.
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
    uint64_t taken_us;  // of the newer one
    ProfilingValues values;
  };
  enum class Support : uint8_t { kUnknown, kYes, kNo };

  bool IsSupported(Driver& driver, nvml::Device device);
  // `take` fills a sample and returns an nvml::Return.
  template <typename Take>
  static bool Advance(Driver& driver, Pair& pair, Take take);
  static void Free(Driver& driver, Pair& pair);

  Support support_;
  Pair gpu_;
  Pair instances_[kMaxGpuInstances];
};

}  // namespace kgpu::probe::child
