#include "src/cli/top/node_layout.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/cli/top/figures.h"

namespace kgpu::top {
namespace {

using terminal::Align;
using terminal::Color;
using terminal::Line;
using terminal::Look;
using terminal::Style;

constexpr size_t kLeastName = 12;
constexpr size_t kMostName = 56;
constexpr double kMuchMemory = 90;   // percent
constexpr double kNearSlowdown = 5;  // degrees

void AddColumn(std::string_view text, size_t width, const Look& look, Line& line, Style style = {},
               Align align = Align::kRight) {
  if (width > 0) {
    line.AddBlanks(1);
    line.AddCell(text, width, look, style, align);
  }
}

std::string ClocksText(const LiveGpu& gpu, bool has_memory_clock) {
  if (!gpu.sm_clock) {
    return "-";
  }
  return has_memory_clock && gpu.memory_clock
             ? fmt::format("{}/{}", *gpu.sm_clock, *gpu.memory_clock)
             : fmt::format("{}MHz", *gpu.sm_clock);
}

Style MemoryStyle(std::optional<double> share) {
  return {.color = share.value_or(0) >= kMuchMemory ? Color::kYellow : Color::kNone};
}

Style TemperatureStyle(const LiveGpu& gpu) {
  const bool is_hot = gpu.temperature && gpu.slowdown_temperature &&
                      *gpu.temperature >= *gpu.slowdown_temperature - kNearSlowdown;
  return {.color = is_hot ? Color::kRed : Color::kNone};
}

}  // namespace

NodeLayout LayOutNode(size_t width) {
  NodeLayout layout{.width = width};
  layout.graph = width < 75 ? 0 : width < 110 ? 10 : width < 160 ? 20 : 36;
  layout.memory_graph = width < 130 ? 0 : width < 180 ? 10 : 20;
  layout.power = width < 75 ? 5 : 9;
  layout.temperature = width < 140 ? 4 : 7;
  layout.clocks = width < 100 ? 0 : width < 140 ? 7 : 10;
  size_t taken = 0;
  for (const size_t column : {layout.utilization, layout.graph, layout.memory, layout.memory_graph,
                              layout.temperature, layout.power, layout.clocks}) {
    taken += column == 0 ? 0 : column + 1;
  }
  const size_t left = width > taken + 1 ? width - taken - 1 : 0;
  layout.name = std::clamp(left * 2 / 3, kLeastName, kMostName);
  layout.state = left > layout.name ? left - layout.name : 0;
  return layout;
}

Line NodeColumns(const NodeLayout& layout, const std::string& graph, const Look& look) {
  const Style style = {.is_bold = true};
  Line line;
  line.AddCell("GPU", layout.name, look, style);
  AddColumn("UTIL", layout.utilization, look, line, style);
  AddColumn(graph, layout.graph, look, line, style, Align::kLeft);
  AddColumn("MEMORY", layout.memory, look, line, style);
  AddColumn("", layout.memory_graph, look, line, style);
  AddColumn("TEMP", layout.temperature, look, line, style);
  AddColumn("POWER", layout.power, look, line, style);
  AddColumn(layout.has_memory_clock() ? "SM/MEM MHz" : "SM", layout.clocks, look, line, style);
  AddColumn("STATE", layout.state, look, line, style, Align::kLeft);
  return line;
}

void AddGpuFigures(const LiveGpu& gpu, const NodeLayout& layout, const Look& look, Line& line) {
  const std::optional<double> share = ShareOf(gpu.memory_used, gpu.memory_total);
  AddColumn(PercentText(gpu.utilization), layout.utilization, look, line);
  AddColumn(Graph(gpu.history.utilization, layout.graph, look), layout.graph, look, line,
            {.color = Color::kCyan}, Align::kLeft);
  AddColumn(MemoryText(gpu.memory_used, gpu.memory_total), layout.memory, look, line,
            MemoryStyle(share));
  AddColumn(Graph(gpu.history.memory, layout.memory_graph, look), layout.memory_graph, look, line,
            {.color = Color::kCyan}, Align::kLeft);
  AddColumn(layout.has_memory_temperature()
                ? TemperatureText(gpu.temperature, gpu.memory_temperature)
                : TemperatureText(gpu.temperature),
            layout.temperature, look, line, TemperatureStyle(gpu));
  AddColumn(layout.has_power_limit() ? PowerText(gpu.watts, gpu.watts_limit) : PowerText(gpu.watts),
            layout.power, look, line);
  AddColumn(ClocksText(gpu, layout.has_memory_clock()), layout.clocks, look, line);
}

void AddPartFigures(std::optional<double> utilization, const std::string& memory,
                    std::optional<double> share, const terminal::Span& info,
                    const NodeLayout& layout, const Look& look, Line& line) {
  AddColumn(utilization ? PercentText(utilization) : "", layout.utilization, look, line);
  AddColumn("", layout.graph, look, line);
  AddColumn(memory, layout.memory, look, line, MemoryStyle(share));
  AddColumn(share && layout.memory_graph > 0 ? Bar(share, layout.memory_graph, look) : "",
            layout.memory_graph, look, line, {.color = Color::kBlue}, Align::kLeft);
  size_t room = layout.state;
  for (const size_t column : {layout.temperature, layout.power, layout.clocks}) {
    room += column == 0 ? 0 : column + 1;
  }
  AddColumn(info.text, room, look, line, info.style, Align::kLeft);
}

}  // namespace kgpu::top
