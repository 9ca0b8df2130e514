#include "src/host/features/kernel_config.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace kgpu::features {
namespace {

struct Line {
  uint64_t begin = 0;  // the name's first eight letters as a number, which orders most names
  std::string_view name;
  std::string_view value;
};

constexpr std::string_view kPrefix = "CONFIG_";

std::string_view WithoutQuotesOfConfig(std::string_view text) {
  while (text.starts_with('"')) {
    text.remove_prefix(1);
  }
  while (text.ends_with('"')) {
    text.remove_suffix(1);
  }
  return text;
}

uint64_t Begin(std::string_view name) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number = (number << 8) | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  }
  return number;
}

bool IsBefore(const Line& left, const Line& right) {
  return left.begin != right.begin ? left.begin < right.begin : left.name < right.name;
}

// Calls `visit` with each option that is set, in the order of the text.
template <typename Visit>
void VisitOptions(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(kPrefix)) {
      continue;
    }
    if (const size_t equals = line.find('='); equals != std::string_view::npos) {
      visit(line.substr(kPrefix.size(), equals - kPrefix.size()),
            WithoutQuotesOfConfig(line.substr(equals + 1)));
    }
  }
}

}  // namespace

std::map<std::string, std::string> ParseKernelConfig(std::string_view text) {
  std::vector<Line> lines;
  VisitOptions(text, [&](std::string_view name, std::string_view value) {
    lines.push_back({Begin(name), name, value});
  });
  // Sorted first: each insertion into the map is then at its end, and of equal names the last wins.
  std::ranges::stable_sort(lines, IsBefore);
  std::map<std::string, std::string> options;
  for (const auto& [begin, name, value] : lines) {
    if (!options.empty() && options.rbegin()->first == name) {
      options.rbegin()->second = value;
    } else {
      options.emplace_hint(options.end(), name, value);
    }
  }
  return options;
}

std::map<std::string, std::string> FindKernelOptions(std::string_view text,
                                                     const std::vector<std::string>& names) {
  std::map<std::string, std::string> options;
  VisitOptions(text, [&](std::string_view name, std::string_view value) {
    if (std::ranges::find(names, name) != names.end()) {
      options.insert_or_assign(std::string(name), std::string(value));
    }
  });
  return options;
}

}  // namespace kgpu::features
