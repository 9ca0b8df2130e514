// Why the API server refused or failed a request.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::kube {

struct ErrorCause {
  std::string reason{};
  std::string message{};
  std::string field{};
  bool operator==(const ErrorCause&) const = default;
};

// Attached to a Status as a payload, which annotating the Status drops.
struct ApiError {
  int code = 0;          // of HTTP
  std::string reason{};  // "Conflict"; empty when the answer came from something else on the way
  std::string message{};
  std::vector<ErrorCause> causes{};
  std::optional<std::chrono::seconds> retry_after{};
  std::string continue_token{};  // of an expired list: where to get the rest
  bool operator==(const ApiError&) const = default;
};

// The status of a response with `code` (OK for 2xx): 400, 413, 422 InvalidArgument; 401
// Unauthenticated; 403 PermissionDenied; 404 NotFound; 405, 406, 415 Unimplemented; 409
// AlreadyExists, or Aborted if the object has changed since it was read; 410 OutOfRange; 408, 429
// and 5xx Unavailable; 3xx FailedPrecondition. `what` names the request: "GET /api/v1/nodes/n1".
Status StatusOfAnswer(int code, const http::Headers& headers, std::string_view body,
                      std::string_view what);
// The same for a metav1.Status object, which a watch may send within a response of code 200.
Status StatusOfObject(const boost::json::value& object, std::string_view what);

// The server's error in `status`; nothing if it came from no server, e.g. none was reached.
std::optional<ApiError> ApiErrorOf(const Status& status);
// Whether a server gave that reason ("NamespaceTerminating"), as its own or as a cause.
bool HasReason(const Status& status, std::string_view reason);
// How long the server asked us to wait; 0 if it did not.
std::chrono::seconds RetryAfterOf(const Status& status);

}  // namespace kgpu::kube
