// Files that a command has checked: which are valid, and what is wrong with the others.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/output.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct CheckedFile {
  std::string name;
  std::string summary{};                // of one that is valid: "2 rules"
  std::vector<std::string> problems{};  // "file:line:column: field: …"; none: it is valid
  std::vector<std::string> hints{};     // the same for what may be meant so
};

// One problem for each line of `text`, which a reader of files has for its errors.
std::vector<std::string> ProblemsOf(std::string_view text);

// A line for each problem, or "FILE: OK: SUMMARY".
std::string CheckedFilesText(std::span<const CheckedFile> files);
// Field names are part of the interface: docs/reference/cli.md.
boost::json::value CheckedFilesJson(std::span<const CheckedFile> files);
// Gives kUnhealthy where a file has a problem. Errors: as PrintOut.
StatusOr<ExitCode> PrintCheckedFiles(std::span<const CheckedFile> files, OutputFormat format);

}  // namespace kgpu::cli
