// Prometheus text format 0.0.4, written straight into one string.
// Source: prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kgpu::metrics {

enum class Type { kGauge, kCounter };

using Label = std::pair<std::string_view, std::string_view>;

// One family after the other, each with all its samples. Names are ours and legal; label values
// are anybody's and are escaped.
class Exposition {
 public:
  // Begins a family. `help` names the source of the values.
  void Family(std::string_view name, Type type, std::string_view help);
  // A sample of the family begun last.
  void Sample(std::initializer_list<Label> labels, double value);
  void Sample(double value) { Sample({}, value); }

  // The page: every line ends with a newline.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace kgpu::metrics
