#include "src/node/live/history.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>

namespace kgpu::live {
namespace {

namespace json = boost::json;

std::optional<uint8_t> Percent(const std::optional<double>& value) {
  return value ? std::optional(static_cast<uint8_t>(std::lround(std::clamp(*value, 0.0, 100.0))))
               : std::nullopt;
}

std::optional<uint8_t> MemoryPercent(const device::GpuSample& sample) {
  if (!sample.memory || sample.memory->total.count == 0) {
    return std::nullopt;
  }
  return Percent(100.0 * static_cast<double>(sample.memory->used.count) /
                 static_cast<double>(sample.memory->total.count));
}

json::value OrNull(const std::optional<uint8_t>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

}  // namespace

void History::Add(const device::SampleSet& samples) {
  // Rounds are never exactly a step apart.
  constexpr std::chrono::milliseconds kSlack = kStep / 10;
  const std::chrono::nanoseconds passed =
      last_ ? samples.begun - *last_ : std::chrono::nanoseconds(kStep);
  if (passed < kStep - kSlack) {
    return;
  }
  const auto steps = static_cast<size_t>((passed + kSlack) / kStep);
  for (size_t missed = 1; missed < std::min(steps, kPoints + 1); ++missed) {
    Push({});
  }
  Push(samples);
  last_ = samples.begun;
}

void History::Push(const device::SampleSet& samples) {
  for (const device::GpuSample& sample : samples.gpus) {
    points_[sample.uuid.str()];
  }
  for (auto& [uuid, points] : points_) {
    const auto sample = std::ranges::find_if(
        samples.gpus,
        [&id = uuid](const device::GpuSample& each) { return each.uuid.str() == id; });
    Point point;
    if (sample != samples.gpus.end()) {
      const device::Utilization& use = sample->utilization;
      point = {.utilization = Percent(use.duty_cycle ? use.duty_cycle : use.gpu),
               .memory = MemoryPercent(*sample)};
    }
    if (points.size() == kPoints) {
      points.erase(points.begin());
    }
    points.push_back(point);
  }
  std::erase_if(points_, [](const auto& entry) {
    return entry.second.size() == kPoints &&
           std::ranges::all_of(entry.second, [](const Point& point) {
             return !point.utilization && !point.memory;
           });
  });
}

json::object History::Of(const device::GpuUuid& gpu) const {
  json::array utilization;
  json::array memory;
  if (const auto points = points_.find(gpu.str()); points != points_.end()) {
    for (const Point& point : points->second) {
      utilization.push_back(OrNull(point.utilization));
      memory.push_back(OrNull(point.memory));
    }
  }
  return {{"stepSeconds", kStep.count()},
          {"utilization", std::move(utilization)},
          {"memory", std::move(memory)}};
}

}  // namespace kgpu::live
