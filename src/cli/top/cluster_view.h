// The GPUs of a cluster as a list of groups, each with the pods that use its GPUs. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "src/cli/top/view.h"
#include "src/cluster/gpus/groups.h"
#include "src/cluster/gpus/summary.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

// Orders: by name, used, free, unhealthy devices.
std::span<const SortKey> ClusterSorts();

// The grouping of `state.grouping`, of which the one after the last is the first.
gpus::GroupBy GroupingOf(const ListState& state);

// `time`: of the summary. `trouble`: why it is not a new one, empty: it is.
View ClusterView(const gpus::Summary& summary, const std::string& time, const ListState& state,
                 size_t columns, const terminal::Look& look, const std::string& trouble = "");

// A header, and a line for each group.
std::string ClusterCsv(const gpus::Summary& summary, gpus::GroupBy by);

}  // namespace kgpu::top
