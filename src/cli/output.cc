#include "src/cli/output.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include "src/base/strings.h"
#include "src/doc/doc.h"
#include "src/sys/read_fd.h"

namespace kgpu::cli {

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

Status PrintOut(std::string_view text) {
  return Annotate(sys::WriteAll(STDOUT_FILENO, text), "standard output");
}

void PrintNote(std::string_view text) {
  // Nobody is left to tell when standard error is closed.
  (void)sys::WriteAll(STDERR_FILENO, fmt::format("{}\n", text));
}

}  // namespace kgpu::cli
