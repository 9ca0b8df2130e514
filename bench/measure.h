// Samples of one quantity, and the table a benchmark prints: each row beside its floor of the same
// run and its budget.
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

// Median of the ratios of pairs taken next to each other: the machine's speed drifts, a pair does
// not see it. Both have the same length.
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
