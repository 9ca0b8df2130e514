// Judges measurements: finds signs in samples for which the driver sends no event.
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

// Owned by the inventory, lives on the loop's thread. Keeps what it needs from earlier samples.
class Measures {
 public:
  // kOneLook: there are no earlier samples and will be no later ones, so nothing has to last, and
  // errors count from the start of the driver.
  enum class Span : uint8_t { kRounds, kOneLook };
  explicit Measures(Span span = Span::kRounds) : span_(span) {}

  // Passes the signs in `set` to the tracker, and tells it which GPUs were measured. True if the
  // result of the tracker's Apply may have changed.
  bool Judge(const device::SampleSet& set, FaultTracker& tracker);

  // Sets the GPUs: those of one model are compared with each other. A change of the MIG mode takes
  // links down on purpose.
  void SetGpus(std::span<const device::Gpu> gpus);
  // An admin considers the GPU healthy: its current links and lanes are all that it needs.
  void Accept(const device::GpuUuid& gpu);

 private:
  // A counter as a rate over at least a minute: bursts of a second are no problem yet.
  struct Rate {
    std::optional<uint64_t> base{};
    SteadyTime at{};
    std::optional<double> per_minute{};
    void Take(std::optional<uint64_t> counter, SteadyTime now);
  };
  struct Known {
    std::optional<uint64_t> uncorrected{};
    uint64_t active_links = 0;  // one bit per link: was active at some time
    unsigned links_now = 0;     // active ones
    unsigned lanes = 0;         // the most lanes seen on the PCIe link
    unsigned lanes_now = 0;
    bool is_accepted = false;  // other GPUs no longer matter
    std::string model{};
    bool is_mig_on = false;
    Rate replays{};
    Rate link_errors{};
    Rate link_crc{};
    std::map<std::string_view, SteadyTime> since{};  // by rule: shown without a break since then
  };
  struct Pass;

  // The most lanes, or active links, that a GPU of this model has now.
  unsigned MostOfModel(const std::string& model, unsigned Known::* count) const;

  Span span_;
  std::map<device::GpuUuid, Known> gpus_;
};

}  // namespace kgpu::health
