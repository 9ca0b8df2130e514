// The GPUs of a node as a list: each with its MIG devices, the pods, functions and processes that
// use it, and what is wrong with it. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/cli/top/live_document.h"
#include "src/cli/top/view.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

// Orders: by index, utilization, memory, temperature, power.
std::span<const SortKey> NodeSorts();

// `columns`: of each line, at least. `trouble`: why the document is not a new one, empty: it is.
View NodeView(const LiveDocument& document, const ListState& state, size_t columns,
              const terminal::Look& look, const std::string& trouble = "");

// All that is known about one GPU: its figures, health and fix, links. One line each, safe to show;
// empty if there is no such GPU.
std::vector<std::string> GpuPage(const LiveDocument& document, const std::string& uuid,
                                 const terminal::Look& look);

}  // namespace kgpu::top
