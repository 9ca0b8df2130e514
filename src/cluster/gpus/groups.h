// A summary by node, model, pool or namespace, and as text and JSON. Pure.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/gpus/summary.h"
#include "src/platform/base/status.h"

namespace kgpu::gpus {

enum class GroupBy : uint8_t { kNode, kModel, kPool, kNamespace };

inline constexpr std::string_view kGroupings = "node, model, pool, namespace";

// Errors: InvalidArgument naming the four.
StatusOr<GroupBy> ParseGroupBy(std::string_view flag, std::string_view text);
// "node", …
std::string_view ToString(GroupBy by);

// Selects a part of a summary; empty: all of it.
struct Filter {
  std::string node{};
  std::string model{};
  std::string pool{};
  std::string space{};
};
// Of a namespace: the pools in which it has devices, and its pods.
Summary Filtered(Summary summary, const Filter& filter);

// Use of the GPUs of a group, as far as it is known.
struct Use {
  std::optional<double> utilization{};  // mean of its GPUs, percent
  std::optional<uint64_t> memory_used{};
  std::optional<uint64_t> memory_total{};
};

struct Group {
  std::string name{};
  Counts counts{};  // of a namespace: `used` alone
  Use use{};        // not of a namespace
  std::vector<std::string> models{};
  std::vector<std::string> pools{};
  uint64_t nodes = 0;
  uint64_t pending = 0;                  // devices that its pods wait for; of pools and namespaces
  std::string problem{};                 // of a node
  std::vector<const Holder*> holders{};  // borrowed from the summary
};

// By name.
std::vector<Group> GroupsOf(const Summary& summary, GroupBy by);
Counts TotalOf(const Summary& summary);

// "12 of 16 GPUs are used, 3 free, 1 unhealthy"
std::string TotalText(const Counts& counts);
std::string SummaryTable(const Summary& summary, GroupBy by);
boost::json::object SummaryJson(const Summary& summary, GroupBy by);

}  // namespace kgpu::gpus
