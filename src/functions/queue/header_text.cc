#include "src/functions/queue/header_text.h"

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kAfterName = ": ";

}  // namespace

StatusOr<std::string> EncodeHeaders(const http::Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers.fields()) {
    if (name.empty() || name.find_first_of(":\n") != std::string::npos ||
        value.find('\n') != std::string::npos) {
      return InvalidArgument("header {}: must be a name and one line", Printable(name));
    }
    text += name;
    text += kAfterName;
    text += value;
    text += '\n';
  }
  return text;
}

StatusOr<http::Headers> DecodeHeaders(std::string_view text) {
  http::Headers headers;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const size_t colon = line.find(':');
    const bool has_name =
        colon != std::string_view::npos && colon > 0 && line.substr(colon).starts_with(kAfterName);
    if (end == std::string_view::npos || !has_name) {
      return InvalidArgument("headers: {} is no line with a name", Printable(line));
    }
    headers.Add(line.substr(0, colon), line.substr(colon + kAfterName.size()));
    text.remove_prefix(end + 1);
  }
  return headers;
}

}  // namespace kgpu::functions
