// The gRPC service pb.FxGateway of OpenFx as requests of the REST API: messages in, messages out.
// Pure functions. Source: proto/fx_gateway.proto.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/net/h2/grpc_message.h"
#include "src/platform/net/http/message.h"

namespace kgpu::gateway {

inline constexpr std::string_view kFxGatewayPath = "/pb.FxGateway/";

// The request that a call of `method` ("List") with `message` means, complete with path and query.
// Errors: Unimplemented (no such method), InvalidArgument (no such message, or a name that no
// function can have).
StatusOr<http::Request> RestRequest(std::string_view method, std::string_view message);

// The id of the route that calls of `method` are for; "": no such method.
std::string_view RouteIdOf(std::string_view method);

// The reply of `method` that the answer with `body`, whose code is below 400, means. Invoke: the
// whole body, byte for byte. Errors: Internal (the service answered something else).
StatusOr<std::string> ReplyMessage(std::string_view method, std::string_view body);

// The status that an answer with a code from 400 means, with its text.
struct GrpcStatus {
  h2::GrpcCode code = h2::GrpcCode::kUnknown;
  std::string text{};
};
GrpcStatus StatusOfAnswer(const http::Response& answer);

}  // namespace kgpu::gateway
