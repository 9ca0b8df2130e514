// Twelve sets of values, for golden files and for comparisons with others' tools.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "src/cluster/chart/values.h"

namespace kgpu::chart {

struct ValueSet {
  std::string name;
  ValuesRequest request;

  friend void PrintTo(const ValueSet& set, std::ostream* out) { *out << set.name; }
};

// `source` is the top of the source tree.
std::vector<ValueSet> TestValueSets(const std::string& source);

}  // namespace kgpu::chart
