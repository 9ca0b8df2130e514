// Judges what GPUs measure: finds the signs in samples that the driver sends no event for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/health/fault_tracker.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

// Owned by the inventory, lives on the loop's thread. Keeps what it needs of the samples before.
class Measures {
 public:
  // Puts the signs of `set` into the tracker, and for each GPU that it was measured. True when what
  // the tracker's Apply says may have changed.
  bool Judge(const device::SampleSet& set, FaultTracker& tracker);

  // What the GPUs are: those of one model are held against each other. A change of the MIG mode
  // takes links down on purpose.
  void SetGpus(std::span<const device::Gpu> gpus);
  // An admin finds the GPU well: the links and lanes that it has now are all that it needs.
  void Accept(const device::GpuUuid& gpu);

 private:
  // A counter as a rate, over at least a minute: bursts of a second are no trouble yet.
  struct Rate {
    std::optional<uint64_t> base{};
    SteadyTime at{};
    std::optional<double> per_minute{};
    void Take(std::optional<uint64_t> counter, SteadyTime now);
  };
  struct Known {
    std::optional<uint64_t> uncorrected{};
    uint64_t active_links = 0;  // bit by link: seen active once
    unsigned lanes = 0;         // the most that the PCIe link was seen with
    unsigned lanes_now = 0;
    bool are_lanes_accepted = false;  // other GPUs no longer matter
    std::string model{};
    bool is_mig_on = false;
    Rate replays{};
    Rate link_errors{};
    Rate link_crc{};
    std::map<std::string_view, SteadyTime> since{};  // by rule: shown without a break
  };
  struct Pass;

  unsigned LanesOfModel(const std::string& model) const;

  std::map<device::GpuUuid, Known> gpus_;
};

}  // namespace kgpu::health
