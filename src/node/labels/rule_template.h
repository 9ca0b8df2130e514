// The templates of rules (docs/reference/rules.md has the table of functions).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::labels {

// All functions; the limit on parts also holds for all templates of a file.
const gotemplate::Language& RuleLanguage();

// The lines "key=value" of a template's output; skips empty lines. A later key wins. Errors:
// InvalidArgument, a line without "=".
StatusOr<std::map<std::string, std::string>> ReadPairs(std::string_view output);

}  // namespace kgpu::labels
