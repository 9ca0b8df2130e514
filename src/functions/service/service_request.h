// The requests of the service's REST API, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/functions/service/function_provider.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

// For errors in a body.
inline constexpr std::string_view kRequestWhere = "request";

// Whether calls may be made by this method.
bool IsCallMethod(std::string_view method, bool is_async);

// Errors: InvalidArgument (a header that means something here is there twice, or it is no id),
// OutOfRange (the input is over the function's limit).
Status CheckCall(const http::Request& request, const Calls& calls);

struct CallTarget {
  std::string name;
  std::string target;  // what the watchdog gets: "/path?query"
};
// Of "/function/<name>[/path][?query]", as it came: escapes in the path are the handler's.
// `prefix`:
// "/function/".
CallTarget TargetOf(const http::Request& request, std::string_view prefix);

// The namespace that a request names; empty: none.
std::string SpaceOf(const http::Request& request);

struct ScaleRequest {
  std::string name;
  int64_t replicas = 0;
};
// {"ServiceName", "Replicas"}; uint64 comes quoted or bare. Errors: InvalidArgument.
StatusOr<ScaleRequest> ParseScale(std::string_view text);

// "?since=&tail=": "since" is how long ago, "15m", or a time of RFC 3339. Errors: InvalidArgument.
StatusOr<LogRequest> ParseLogRequest(const http::Request& request, WallTime now);

// Whether the caller reads plain text.
bool AcceptsText(const http::Request& request);

}  // namespace kgpu::functions
