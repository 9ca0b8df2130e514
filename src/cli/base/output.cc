#include "src/cli/base/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/report/print.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {

size_t TerminalWidth(int fd) {
  constexpr size_t kUsual = 80;
  if (isatty(fd) == 0) {
    return 0;
  }
  struct winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

Status PrintOut(std::string_view text) {
  return Annotate(sys::WriteAll(STDOUT_FILENO, text), "standard output");
}

Status PrintAs(OutputFormat format, std::string_view table, const boost::json::value& json) {
  return format == OutputFormat::kTable ? PrintOut(table) : PrintOut(Render(json, format));
}

StatusOr<ExitCode> PrintReference(const std::string& output, std::string_view markdown,
                                  std::string_view table, const boost::json::value& json) {
  const auto format = ParseOutputFormat(output);
  if (output != "markdown" && !format.ok()) {
    return InvalidArgument("--output: \"{}\" must be table, json, yaml or markdown",
                           Printable(output, 40));
  }
  return OkOr(format.ok() ? PrintAs(*format, table, json) : PrintOut(markdown));
}

std::string NamedFindingsText(const NamedFindings& checked, std::string_view well, bool has_color) {
  std::string text;
  for (const auto& [name, findings] : checked) {
    text += findings.empty() ? fmt::format("{}: {}\n", name, well)
                             : report::FindingsText(findings, {.has_color = has_color});
  }
  return text;
}

StatusOr<ExitCode> PrintNamedFindings(const NamedFindings& checked, std::string_view well,
                                      OutputFormat format) {
  std::vector<report::Finding> all;
  for (const auto& [name, findings] : checked) {
    all.insert(all.end(), findings.begin(), findings.end());
  }
  const boost::json::object json = {{"findings", report::FindingsJson(all)}};
  RETURN_IF_ERROR(
      PrintAs(format, NamedFindingsText(checked, well, TakesColor(STDOUT_FILENO)), json));
  return ExitCodeOf(report::WorstOf(all));
}

}  // namespace kgpu::cli
