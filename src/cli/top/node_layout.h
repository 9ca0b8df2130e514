// Which columns fit into a width.
#pragma once

#include <cstddef>

#include "src/cli/top/live_document.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

// Columns of a line; 0: left out. One blank stands between two of them.
struct NodeLayout {
  size_t width = 0;
  size_t name = 0;
  size_t utilization = 4;
  size_t graph = 0;  // of the utilization
  size_t memory = 10;
  size_t memory_graph = 0;
  size_t temperature = 4;
  size_t power = 5;
  size_t clocks = 0;
  size_t state = 0;

  bool has_power_limit() const { return power > 5; }
  bool has_memory_temperature() const { return temperature > 4; }
  bool has_memory_clock() const { return clocks > 7; }
};

NodeLayout LayOutNode(size_t width);

// Titles of the columns. `graph`: "LAST 60m".
terminal::Line NodeColumns(const NodeLayout& layout, const std::string& graph,
                           const terminal::Look& look);

// The figures of a GPU behind its name, up to its state.
void AddGpuFigures(const LiveGpu& gpu, const NodeLayout& layout, const terminal::Look& look,
                   terminal::Line& line);
// The figures of a part of a GPU: `info` takes the room of the columns that a part has not.
void AddPartFigures(std::optional<double> utilization, const std::string& memory,
                    std::optional<double> share, const terminal::Span& info,
                    const NodeLayout& layout, const terminal::Look& look, terminal::Line& line);

}  // namespace kgpu::top
