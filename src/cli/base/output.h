// Output of commands.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/base/color.h"
#include "src/cli/base/exit_code.h"
#include "src/cli/base/note.h"
#include "src/node/report/format.h"
#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

using report::OutputFormat;
using report::ParseOutputFormat;
using report::Render;

// Columns of the terminal at `fd`, 80 where it does not tell; 0 if it is none.
size_t TerminalWidth(int fd);
// Writes to standard output immediately. Errors: as errno (a closed pipe: Unavailable).
Status PrintOut(std::string_view text);
// A result in the requested format. Errors: as PrintOut.
Status PrintAs(OutputFormat format, std::string_view table, const boost::json::value& json);
// The same for a reference page, which has a fourth format, "markdown". Errors: InvalidArgument.
StatusOr<ExitCode> PrintReference(const std::string& output, std::string_view markdown,
                                  std::string_view table, const boost::json::value& json);
// Findings by the name of what was checked.
using NamedFindings = std::vector<std::pair<std::string, std::vector<report::Finding>>>;
// For people; one without findings becomes a line "NAME: WELL".
std::string NamedFindingsText(const NamedFindings& checked, std::string_view well,
                              bool has_color = false);
// Returns the exit code of the worst finding.
StatusOr<ExitCode> PrintNamedFindings(const NamedFindings& checked, std::string_view well,
                                      OutputFormat format);

}  // namespace kgpu::cli
