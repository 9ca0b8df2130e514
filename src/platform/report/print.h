// Prints findings for people, programs and documents. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>
#include <string_view>

#include "src/platform/report/finding.h"

namespace kgpu::report {

struct TextOptions {
  bool has_color = false;      // for the severity, on terminals
  std::string_view subject{};  // already printed above, so not repeated
  std::string_view writer{};   // what makes the edits: "kgpu doctor --fix writes"
};

// For each finding "severity id: subject: message", then the evidence, then the fix.
std::string FindingsText(std::span<const Finding> findings, const TextOptions& options = {});
// "1 error, 2 warnings, 0 info".
std::string CountsText(std::span<const Finding> findings);
// "subject: message; evidence; fix": for logs and errors.
std::string LineOf(const Finding& finding);

// Field names are part of the interface: docs/reference/cli.md.
boost::json::object FindingJson(const Finding& finding);
boost::json::array FindingsJson(std::span<const Finding> findings);

// The table of a documentation page, with the extra column if it has a title.
std::string KindsMarkdown(std::span<const Kind> kinds, std::string_view extra_title = "");

}  // namespace kgpu::report
