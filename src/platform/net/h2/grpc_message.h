// gRPC over HTTP/2 as a server of unary calls sees it: message framing, statuses, deadlines.
// Source: grpc's PROTOCOL-HTTP2.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

// Numbers of gRPC, of which absl's are the same.
enum class GrpcCode : uint8_t {
  kOk = 0,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

// Whether a request is a gRPC call: POST with a content type of gRPC.
bool IsGrpc(const http::Request& request);

// The one message of a unary request's body. Errors: InvalidArgument (not exactly one message),
// OutOfRange (over `limit`), Unimplemented (compressed: we have offered no compression).
StatusOr<std::string_view> GrpcMessageIn(std::string_view body, size_t limit);
// A message as it is framed in a body.
std::string FrameGrpcMessage(std::string_view message);

// grpc-status and, unless empty, grpc-message, percent-encoded.
http::Headers GrpcTrailers(GrpcCode code, std::string_view message);
// The head of every response to a gRPC call.
http::Response GrpcHead();

// "100m" as grpc-timeout has it. Errors: InvalidArgument.
StatusOr<std::chrono::nanoseconds> ParseGrpcTimeout(std::string_view text);
// A call's grpc-timeout; nothing if it has none. Errors: InvalidArgument.
StatusOr<std::optional<std::chrono::nanoseconds>> GrpcTimeoutOf(const http::Request& request);

}  // namespace kgpu::h2
