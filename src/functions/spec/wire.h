// A function on its way to a gateway or the local service: OpenFx's CreateFunctionRequest as JSON,
// with an object "Kgpu" for the fields that OpenFx lacks. What only a build needs stays behind.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

inline constexpr size_t kMaxWireBytes = size_t{1} << 20;

// uint64 are quoted decimals, as protobuf's JSON has them. `desc` and `maintainer` are annotations.
boost::json::object ToWire(const Function& function);

// Reads a request of ours or of OpenFx. Refuses what config.yaml refuses, unknown keys included: a
// GPU request under a misspelt key must not become a function without GPUs.
// Errors: InvalidArgument, a line for each problem: "where:line:column: field: …".
StatusOr<Function> ParseWire(std::string_view text, std::string_view where);

}  // namespace kgpu::functions
