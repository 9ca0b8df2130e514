#include "src/doc/doc.h"

#include <boost/json/value.hpp>

#include "src/base/strings.h"
#include "src/doc/json_reader.h"
#include "src/doc/yaml_reader.h"

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

StatusOr<boost::json::value> Parse(std::string_view text, Format format, std::string_view file,
                                   const Limits& limits) {
  if (text.size() > limits.bytes) {
    return InvalidArgument("{}: {} bytes are more than the {} allowed", file, text.size(),
                           limits.bytes);
  }
  return format == Format::kJson ? ParseJson(text, file, limits) : ParseYaml(text, file, limits);
}

}  // namespace kgpu::doc
