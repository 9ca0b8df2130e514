#include "src/cli/top/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace kgpu::top {
namespace {

using terminal::Look;

// Heights from 1/8 to 8/8; a value of 0 is the lowest, so that it differs from no value.
constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kLetters = {"_", ".", ":", "-", "=", "+", "*", "#"};

std::string GibText(uint64_t bytes) {
  const double gib = static_cast<double>(bytes) / (1ULL << 30);
  // 99.96 would become 100.0, a column more than the table has.
  return gib < 99.95 ? fmt::format("{:.1f}", gib) : fmt::format("{:.0f}", gib);
}

double Clamp(double percent) {
  return std::clamp(percent, 0.0, 100.0);
}

std::string Pair(std::optional<double> first, std::optional<double> second, char unit) {
  if (!first && !second) {
    return "-";
  }
  std::string text = first ? fmt::format("{:.0f}", *first) : "-";
  if (second) {
    text += fmt::format("/{:.0f}", *second);
  }
  return text + unit;
}

// The mean of the values from `begin` to `end`; nothing if there is none.
std::optional<double> MeanOf(const Series& values, size_t begin, size_t end) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) {
    if (const std::optional<double>& value = values[i]; value) {
      sum += Clamp(*value);
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

std::string_view BlockOf(double percent, const Look& look) {
  const auto level = static_cast<size_t>(std::lround(Clamp(percent) / 100 * 7));
  return look.is_utf8 ? kBlocks.at(level) : kLetters.at(level);
}

}  // namespace

std::string PercentText(std::optional<double> percent) {
  return percent ? fmt::format("{:.0f}%", *percent) : "-";
}

std::string MemoryText(std::optional<uint64_t> used, std::optional<uint64_t> total) {
  if (!used && !total) {
    return "-";
  }
  std::string text = used ? GibText(*used) : "-";
  if (total) {
    text += "/" + GibText(*total);
  }
  return text + "G";
}

std::string TemperatureText(std::optional<double> first, std::optional<double> second) {
  return Pair(first, second, 'C');
}

std::string PowerText(std::optional<double> watts, std::optional<double> limit) {
  return Pair(watts, limit, 'W');
}

std::optional<double> ShareOf(std::optional<uint64_t> used, std::optional<uint64_t> total) {
  if (!used || !total || *total == 0) {
    return std::nullopt;
  }
  return 100.0 * static_cast<double>(*used) / static_cast<double>(*total);
}

std::string Graph(const Series& values, size_t width, const Look& look) {
  const size_t columns = std::min(width, values.size());
  std::string graph(width - columns, ' ');
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * values.size() / columns;
    const size_t end = (column + 1) * values.size() / columns;
    const std::optional<double> mean = MeanOf(values, begin, end);
    graph += mean ? BlockOf(*mean, look) : " ";
  }
  return graph;
}

std::string Bar(std::optional<double> percent, size_t width, const Look& look) {
  if (!percent) {
    return std::string(width, ' ');
  }
  const auto filled =
      static_cast<size_t>(std::lround(Clamp(*percent) / 100 * static_cast<double>(width)));
  std::string bar;
  for (size_t column = 0; column < width; ++column) {
    const bool is_filled = column < filled;
    bar += look.is_utf8 ? (is_filled ? "█" : "░") : (is_filled ? "#" : ".");
  }
  return bar;
}

}  // namespace kgpu::top
