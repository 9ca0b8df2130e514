#include "src/host/features/kernel_version.h"

#include <algorithm>
#include <array>

#include "src/platform/base/ascii.h"

namespace kgpu::features {
namespace {

bool IsLabelCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.';
}

// Removes and returns the number at the front of `text`; empty if there is none.
std::string_view TakeNumber(std::string_view& text) {
  const auto* const end = std::ranges::find_if_not(text, IsDigit);
  const auto length = static_cast<size_t>(end - text.begin());
  const std::string_view number = text.substr(0, length);
  text.remove_prefix(length);
  return number;
}

}  // namespace

std::map<std::string, std::string> ParseKernelVersion(std::string_view release) {
  constexpr std::string_view kNotAtTheEnds = "-_.";
  constexpr std::array kParts = {"major", "minor", "revision"};
  std::string full(release);
  const auto is_illegal = [](char c) { return !IsLabelCharacter(c); };
  std::ranges::replace_if(full, is_illegal, '_');
  const size_t begin = full.find_first_not_of(kNotAtTheEnds);
  full = begin == std::string::npos
             ? ""
             : full.substr(begin, full.find_last_not_of(kNotAtTheEnds) - begin + 1);
  std::map<std::string, std::string> parts;
  std::string_view rest = full;
  for (size_t i = 0; i < kParts.size(); ++i) {
    const std::string_view number = TakeNumber(rest);
    if (number.empty()) {
      parts.clear();  // a point without a number behind it
      break;
    }
    parts.emplace(kParts[i], number);
    if (!rest.starts_with('.')) {
      break;
    }
    if (i + 1 < kParts.size()) {
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty() && !rest.starts_with('-')) {
    parts.clear();
  }
  parts.emplace("full", std::move(full));
  return parts;
}

}  // namespace kgpu::features
