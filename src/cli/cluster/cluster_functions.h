// What `kgpu cluster install --functions` adds to the values of an installation.
#pragma once

#include "src/cluster/chart/values.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// The values of `request`, to which it adds functions.enabled, if `is_asked`, and the Secret of
// tokens that kgpu makes, if the gateway has none and is not to be open to everybody.
// Errors: those of chart::ReadValues.
StatusOr<chart::Values> ReadValuesWithFunctions(bool is_asked, chart::ValuesRequest& request);

// Whether the gateway of these values has the tokens that kgpu makes.
bool HasOwnTokens(const chart::Values& values);

}  // namespace kgpu::cli
