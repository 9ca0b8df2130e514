// Counts how often the parts of one GPU became unhealthy recently.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "src/gpu/health/settings.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

class FlapHistory {
 public:
  // The part became unhealthy. True: more often than `limit` allows.
  bool Note(const FlapLimit& limit, std::optional<unsigned> gpu_instance,
            std::optional<unsigned> compute_instance, SteadyTime now) {
    if (limit.times == 0) {
      return false;
    }
    Part& part = At(gpu_instance, compute_instance);
    std::erase_if(part.times, [&](SteadyTime time) { return time + limit.within < now; });
    part.times.push_back(now);
    if (part.times.size() <= limit.times) {
      return false;
    }
    part.times.erase(part.times.begin());
    return true;
  }
  void Clear() { parts_.clear(); }

 private:
  struct Part {
    std::optional<unsigned> gpu_instance;
    std::optional<unsigned> compute_instance;
    std::vector<SteadyTime> times;
  };
  // More parts than a GPU can have at a time; the oldest are dropped.
  static constexpr size_t kMaxParts = 32;

  Part& At(std::optional<unsigned> gpu_instance, std::optional<unsigned> compute_instance) {
    const auto found = std::ranges::find_if(parts_, [&](const Part& part) {
      return part.gpu_instance == gpu_instance && part.compute_instance == compute_instance;
    });
    if (found != parts_.end()) {
      return *found;
    }
    if (parts_.size() >= kMaxParts) {
      parts_.erase(parts_.begin());
    }
    return parts_.emplace_back(Part{gpu_instance, compute_instance, {}});
  }

  std::vector<Part> parts_;
};

}  // namespace kgpu::health
