// Tokens for the function gateway of a cluster whose admin has none.
#pragma once

#include <string_view>

#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

// Its keys: `tokens`, the gateway's file; `admin-token` and `metrics-token`, those in it.
inline constexpr std::string_view kTokensSecret = "kgpu-gateway-tokens";

// Makes the Secret in the namespace `space`, unless it exists. Returns whether it was made.
// Errors: those of Send.
StatusOr<bool> EnsureGatewayTokens(kube::BlockingClient& client, std::string_view space);

}  // namespace kgpu::install
