// Private to the planner: picks one option for each GPU so that together they provide the demand at
// the least cost. Layer by layer, a GPU each, with the states that are reached; a state that cannot
// be completed is dropped. When there are too many states, the most promising ones stay, and the
// result is not proven to be the best.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/node/mig/options.h"

namespace kgpu::mig {

struct SearchInput {
  std::vector<const std::vector<Option>*> options;  // by GPU; each sorted by cost
  Counts demand;
  std::vector<std::vector<unsigned>> weights;  // by kind: what an instance takes, in several units
  std::optional<Cost> ceiling;                 // options that lead beyond it are not followed
};

struct SearchResult {
  std::vector<size_t> chosen;  // index of the option, by GPU; empty: none found
  Cost cost;
  bool is_complete = true;  // no state was left out
};

SearchResult Search(const SearchInput& input, const PlanLimits& limits);

// The most that all GPUs from `first` on can provide of a kind, and together by a weight.
uint64_t CapacityOf(const SearchInput& input, size_t first, size_t kind);
uint64_t CapacityBy(const SearchInput& input, size_t first, const std::vector<unsigned>& weight);

}  // namespace kgpu::mig
