// Programs in Go: implementations of helm's template language and of CEL that are not ours.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::e2e {

// Empty, or why programs in Go cannot be built here.
std::string WhyNoGo();

// Builds the program `name` of this folder, runs it with `input` as JSON, and parses what it
// prints. `folder` is for files. Errors: FailedPrecondition (it was not built), InvalidArgument (it
// failed).
StatusOr<boost::json::value> RunGo(const std::string& folder, const std::string& name,
                                   const boost::json::value& input);

}  // namespace kgpu::e2e
