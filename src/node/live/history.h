// An hour of each GPU's use, for graphs: one value per step, in fixed memory.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/platform/base/clock.h"

namespace kgpu::live {

class History {
 public:
  static constexpr std::chrono::seconds kStep{15};
  static constexpr size_t kPoints = 240;

  // Takes a point of each GPU once a step has passed since the last one; steps without samples have
  // no value. GPUs that are not in `samples` for a whole hour are forgotten.
  void Add(const device::SampleSet& samples);
  // {"stepSeconds": 15, "utilization": [37, null, …], "memory": […]}: percent, oldest first; lists
  // of the same length, empty for an unknown GPU.
  boost::json::object Of(const device::GpuUuid& gpu) const;

 private:
  struct Point {
    std::optional<uint8_t> utilization{};
    std::optional<uint8_t> memory{};
  };

  void Push(const device::SampleSet& samples);

  std::map<std::string, std::vector<Point>> points_;  // by UUID; at most kPoints
  std::optional<SteadyTime> last_;
};

}  // namespace kgpu::live
