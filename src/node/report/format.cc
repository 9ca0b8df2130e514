#include "src/node/report/format.h"

#include <fmt/chrono.h>

#include <boost/json/value.hpp>
#include <chrono>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::report {

StatusOr<OutputFormat> ParseOutputFormat(std::string_view text) {
  if (text == "table") {
    return OutputFormat::kTable;
  }
  if (text == "json") {
    return OutputFormat::kJson;
  }
  if (text == "yaml") {
    return OutputFormat::kYaml;
  }
  return InvalidArgument("--output: \"{}\" must be table, json or yaml", Printable(text, 40));
}

std::string Render(const boost::json::value& value, OutputFormat format) {
  return doc::Print(value, format == OutputFormat::kJson ? doc::Format::kJson : doc::Format::kYaml);
}

}  // namespace kgpu::report
