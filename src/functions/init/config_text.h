// The text of config.yaml for a new function. Private to the module.
#pragma once

#include <string>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// A whole file.
std::string NewConfigText(const Function& function, std::string_view gateway);

// `text`, the content of `file`, with the function added; every other byte stays. Errors:
// InvalidArgument (`text` is no valid config.yaml), AlreadyExists, FailedPrecondition (`text` is
// laid out in a way that only people can extend).
StatusOr<std::string> WithFunction(std::string_view text, std::string_view file,
                                   const Function& function, std::string_view gateway);

}  // namespace kgpu::functions
