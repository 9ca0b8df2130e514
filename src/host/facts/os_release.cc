#include "src/host/facts/os_release.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr size_t kOsReleaseLimit = size_t{64} << 10;

bool IsNameCharacter(char c) {
  return IsDigit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsDigit);
}

std::string_view WithoutQuotes(std::string_view text) {
  constexpr std::string_view kQuotes = "\"'";
  const size_t begin = text.find_first_not_of(kQuotes);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kQuotes) - begin + 1);
}

void AddVersionParts(std::map<std::string, std::string>& values) {
  const auto version = values.find("VERSION_ID");
  if (version == values.end()) {
    return;
  }
  // Views of a text that stays where it is when the map grows.
  const std::vector<std::string_view> parts = Split(version->second, '.');
  if (!IsNumber(parts[0])) {
    return;
  }
  values["VERSION_ID.major"] = std::string(parts[0]);
  if (parts.size() > 1 && IsNumber(parts[1])) {
    values["VERSION_ID.minor"] = std::string(parts[1]);
  }
}

}  // namespace

std::map<std::string, std::string> ParseOsRelease(std::string_view text) {
  std::map<std::string, std::string> values;
  for (std::string_view line : Split(text, '\n')) {
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == line.size()) {
      continue;
    }
    const std::string_view name = line.substr(0, equals);
    if (std::ranges::all_of(name, IsNameCharacter)) {
      values[std::string(name)] = std::string(WithoutQuotes(line.substr(equals + 1)));
    }
  }
  AddVersionParts(values);
  return values;
}

StatusOr<std::string> ReadOsRelease(const sys::Root& host) {
  StatusOr<std::string> text = host.ReadFile("etc/os-release", kOsReleaseLimit);
  if (!text.ok()) {
    StatusOr<std::string> vendors = host.ReadFile("usr/lib/os-release", kOsReleaseLimit);
    return vendors.ok() ? std::move(vendors) : std::move(text);
  }
  return text;
}

}  // namespace kgpu::host
