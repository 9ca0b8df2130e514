// Ten sets of values, for golden files and for comparisons with others' tools.
#pragma once

#include <string>
#include <vector>

#include "src/cluster/chart/values.h"

namespace kgpu::chart {

struct ValueSet {
  std::string name;
  ValuesRequest request;
};

// `source` is the top of the source tree.
std::vector<ValueSet> TestValueSets(const std::string& source);

}  // namespace kgpu::chart
