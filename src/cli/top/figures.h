// Figures and small graphs as a terminal shows them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/terminal/line.h"

namespace kgpu::top {

// "37%"; "-" without a value, as all of these.
std::string PercentText(std::optional<double> percent);
// "30.1/79.6G", in GiB; "-/79.6G" without the first, "30.1G" without the second.
std::string MemoryText(std::optional<uint64_t> used, std::optional<uint64_t> total);
// "41C", and with the second "41/50C".
std::string TemperatureText(std::optional<double> first, std::optional<double> second = {});
// "120W", "120/700W".
std::string PowerText(std::optional<double> watts, std::optional<double> limit = {});

// Share of `total` in percent; nothing without both.
std::optional<double> ShareOf(std::optional<uint64_t> used, std::optional<uint64_t> total);

using Series = std::vector<std::optional<double>>;

// A column for each part of `values`, which are percents, oldest first: its mean as a block of that
// height. Fewer values than columns stand at the right.
std::string Graph(const Series& values, size_t width, const terminal::Look& look);
// One value as a bar; blank without one.
std::string Bar(std::optional<double> percent, size_t width, const terminal::Look& look);

}  // namespace kgpu::top
