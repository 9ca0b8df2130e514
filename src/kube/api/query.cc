#include "src/kube/api/query.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/ascii.h"

namespace kgpu::kube {
namespace {

bool IsUnreserved(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string PathOf(std::initializer_list<std::string_view> parts) {
  std::string path;
  for (const std::string_view part : parts) {
    if (!part.empty()) {
      path += '/';
      path += Escape(part);
    }
  }
  return path;
}

std::string TargetOf(std::string_view path,
                     const std::vector<std::pair<std::string, std::string>>& query) {
  std::string target(path);
  char mark = path.find('?') == std::string_view::npos ? '?' : '&';
  for (const auto& [key, value] : query) {
    target += std::exchange(mark, '&');
    target += Escape(key);
    target += '=';
    target += Escape(value);
  }
  return target;
}

}  // namespace kgpu::kube
