#include "src/platform/doc/doc.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/json_places.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/located.h"
#include "src/platform/doc/yaml_reader.h"

namespace kgpu::doc {

StatusOr<Format> FormatOfPath(std::string_view path) {
  if (path.ends_with(".json")) {
    return Format::kJson;
  }
  if (path.ends_with(".yaml") || path.ends_with(".yml")) {
    return Format::kYaml;
  }
  return InvalidArgument("{}: the name must end in .json, .yaml or .yml", Printable(path));
}

namespace {

// The checks that both formats share.
Status CheckText(std::string_view text, std::string_view file, const Limits& limits) {
  if (text.size() > limits.bytes) {
    return InvalidArgument("{}: {} bytes exceed the limit of {}", file, text.size(), limits.bytes);
  }
  // yaml-cpp accepts any byte, and its printed form would not be JSON.
  if (const std::optional<size_t> offset = FindInvalidUtf8(text)) {
    const std::string_view before = text.substr(0, *offset);
    return InvalidArgument("{}:{}:{}: not UTF-8 text", file, std::ranges::count(before, '\n') + 1,
                           *offset - (before.rfind('\n') + 1) + 1);  // npos + 1 is 0
  }
  // Neither format allows them, and yaml-cpp takes a text that has some for UTF-16 or UTF-32.
  if (text.find('\0') != std::string_view::npos) {
    return InvalidArgument("{}: contains zero bytes: save it as UTF-8", file);
  }
  return OkStatus();
}

}  // namespace

StatusOr<boost::json::value> Parse(std::string_view text, Format format, std::string_view file,
                                   const Limits& limits) {
  RETURN_IF_ERROR(CheckText(text, file, limits));
  return format == Format::kJson ? ParseJson(text, file, limits)
                                 : ParseYaml(text, file, limits, nullptr);
}

StatusOr<Located> ParseLocated(std::string_view text, Format format, std::string_view file,
                               const Limits& limits) {
  RETURN_IF_ERROR(CheckText(text, file, limits));
  Located located;
  if (format == Format::kJson) {
    ASSIGN_OR_RETURN(located.root, ParseJson(text, file, limits));
    located.place = PlacesOfJson(text);
  } else {
    ASSIGN_OR_RETURN(located.root, ParseYaml(text, file, limits, &located.place));
  }
  return located;
}

}  // namespace kgpu::doc
