// Judges what GPUs measure: finds the signs in samples that the driver sends no event for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/clock.h"
#include "src/device/sample.h"
#include "src/health/book.h"

namespace kgpu::health {

// Owned by the inventory, lives on the loop's thread. Keeps what it needs of the samples before.
class Measures {
 public:
  // Puts the signs of `set` into the book, and for each GPU that it was measured. True when what
  // the book's Apply says may have changed.
  bool Judge(const device::SampleSet& set, Book& book);

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
    Rate replays{};
    Rate link_errors{};
    Rate link_crc{};
    std::map<std::string_view, SteadyTime> since{};  // by rule: shown without a break
  };
  struct Pass;

  std::map<device::GpuUuid, Known> gpus_;
};

}  // namespace kgpu::health
