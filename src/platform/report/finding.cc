#include "src/platform/report/finding.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::report {
std::string_view ToString(Severity severity) {
  constexpr std::array<std::string_view, 3> kWords = {"info", "warning", "error"};
  return kWords[static_cast<size_t>(severity)];
}

std::vector<std::string> ChangesOf(const FileEdit& edit) {
  if (!edit.changes.empty()) {
    return edit.changes;
  }
  std::vector<std::string> changes;
  const auto add = [&](std::string_view lines, std::string_view others, char mark) {
    const std::vector<std::string_view> known = Split(others, '\n');
    for (const std::string_view line : Split(lines, '\n')) {
      if (std::ranges::find(known, line) == known.end()) {
        changes.push_back(fmt::format("{} {}", mark, Printable(line)));
      }
    }
  };
  const std::string before = edit.before.value_or("");
  add(before, edit.text, '-');
  add(edit.text, before, '+');
  return changes;
}

Severity WorstOf(std::span<const Finding> findings) {
  const auto worst = std::ranges::max_element(findings, {}, &Finding::severity);
  return worst == findings.end() ? Severity::kInfo : worst->severity;
}

bool HasError(std::span<const Finding> findings) {
  return WorstOf(findings) == Severity::kError;
}

void SortWorstFirst(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::severity);
}

}  // namespace kgpu::report
