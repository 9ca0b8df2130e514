// Where a series' collector puts the values of one thing: absent values give no sample.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "src/platform/base/bytes.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::telemetry {

class Values {
 public:
  Values(metrics::Exposition& page, std::string_view labels) : page_(page), labels_(labels) {}

  void Put(double value) { page_.SampleOf(labels_, value); }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put({}, value, 1);
  }
  // In a larger unit: divides, since 7 / 100 prints exactly and 7 × 0.01 does not.
  template <typename T>
  void Divided(const std::optional<T>& value, double by) {
    Put({}, value, by);
  }
  // With labels after those of the thing.
  void Put(std::initializer_list<metrics::Label> more, double value) {
    page_.SampleOf(labels_, more, value);
  }
  template <typename T>
  void Put(std::initializer_list<metrics::Label> more, const std::optional<T>& value,
           double divided_by = 1) {
    if (value) {
      page_.SampleOf(labels_, more, Number(*value) / divided_by);
    }
  }
  // In a smaller unit.
  template <typename T>
  void PutTimes(std::initializer_list<metrics::Label> more, const std::optional<T>& value,
                double factor) {
    if (value) {
      page_.SampleOf(labels_, more, Number(*value) * factor);
    }
  }

 private:
  template <typename T>
  static double Number(const T& value) {
    return static_cast<double>(value);
  }
  static double Number(const Bytes& bytes) { return static_cast<double>(bytes.count); }

  metrics::Exposition& page_;
  std::string_view labels_;
};

}  // namespace kgpu::telemetry
