// Where commands print to.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/color.h"
#include "src/cli/exit_code.h"
#include "src/node/report/format.h"
#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

using report::OutputFormat;
using report::ParseOutputFormat;
using report::Render;

// Writes to standard output at once. Errors: as errno (a closed pipe: Unavailable).
Status PrintOut(std::string_view text);
// A result in the form that was asked for. Errors: as PrintOut.
Status PrintAs(OutputFormat format, std::string_view table, const boost::json::value& json);
// The same for a page of reference, which has a fourth form, "markdown". Errors: InvalidArgument.
StatusOr<ExitCode> PrintReference(const std::string& output, std::string_view markdown,
                                  std::string_view table, const boost::json::value& json);
// By the name of what was checked: what is wrong with it.
using NamedFindings = std::vector<std::pair<std::string, std::vector<report::Finding>>>;
// For people; one without a finding is a line "NAME: WELL".
std::string NamedFindingsText(const NamedFindings& checked, std::string_view well,
                              bool has_color = false);
// Gives the exit code of the worst finding.
StatusOr<ExitCode> PrintNamedFindings(const NamedFindings& checked, std::string_view well,
                                      OutputFormat format);

// A remark for people on standard error: never part of a command's result.
void PrintNote(std::string_view text);
// Several, each with the same words before it.
void PrintNotes(const std::vector<std::string>& notes, std::string_view before = "");

}  // namespace kgpu::cli
