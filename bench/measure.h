// Samples of one quantity, and the table that a benchmark prints: each row with its floor from the
// same run and its budget.
#pragma once

#include <string>
#include <vector>

namespace kgpu::bench {

class Samples {
 public:
  void Add(double value) { values_.push_back(value); }
  size_t size() const { return values_.size(); }
  // 0 when empty. `fraction` 0.5 is the median.
  double Quantile(double fraction) const;
  double Median() const { return Quantile(0.5); }

 private:
  std::vector<double> values_;
};

// Median of the ratios of adjacent pairs: the machine's speed drifts, but hardly within a pair.
// Both must have the same length.
double MedianRatio(const std::vector<double>& values, const std::vector<double>& floors);

struct Row {
  std::string what;
  std::string unit;
  Samples samples;
  std::string floor_name;
  Samples floor;
  std::string budget;  // as docs/benchmarks.md states it; "-" for none
};

// "what  n  p50  p90  max  floor p50  ratio  budget", aligned.
std::string RenderRows(const std::vector<Row>& rows);

}  // namespace kgpu::bench
