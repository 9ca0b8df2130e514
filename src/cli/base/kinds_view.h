// The lists of all that a command can find, as people, programs and documents read them.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>
#include <string_view>

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

// The formats of such a list: those of every command, and the table of a page.
inline constexpr char kKindsFormats[] = "table|json|yaml|markdown";

struct KindsList {
  std::span<const report::Kind> kinds;
  std::string_view name;         // of the JSON list: "checks"
  std::string_view extra{};      // title of the column of its own: "ABOUT"; empty: none
  std::string_view extra_key{};  // the same in JSON: "about"
};

std::string KindsTable(const KindsList& list);
// Field names are part of the interface: docs/reference/cli.md.
boost::json::value KindsJson(const KindsList& list);
// `markdown` is what the page shows. Errors: InvalidArgument (no such format), as PrintOut.
StatusOr<ExitCode> PrintKinds(const std::string& output, const KindsList& list,
                              std::string_view markdown);

}  // namespace kgpu::cli
