// What the API server said when it did not do what was asked.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::kube {

struct ErrorCause {
  std::string reason{};
  std::string message{};
  std::string field{};
  bool operator==(const ErrorCause&) const = default;
};

// Rides in a Status as its payload, until somebody annotates that.
struct ApiError {
  int code = 0;          // of HTTP
  std::string reason{};  // "Conflict"; empty when the answer came from something else on the way
  std::string message{};
  std::vector<ErrorCause> causes{};
  std::optional<std::chrono::seconds> retry_after{};
  std::string continue_token{};  // of an expired list: where its rest may be had
  bool operator==(const ApiError&) const = default;
};

// The status of an answer with `code` (OK for 2xx): 400, 413, 422 InvalidArgument; 401
// Unauthenticated; 403 PermissionDenied; 404 NotFound; 405, 406, 415 Unimplemented; 409
// AlreadyExists, or Aborted when something has changed since it was read; 410 OutOfRange; 408, 429
// and 5xx Unavailable; 3xx FailedPrecondition. `what` names the request: "GET /api/v1/nodes/n1".
Status StatusOfAnswer(int code, const http::Headers& headers, std::string_view body,
                      std::string_view what);
// The same of a metav1.Status object, which a watch may bring within an answer of code 200.
Status StatusOfObject(const boost::json::value& object, std::string_view what);

// What `status` was made of; nothing when no server said it: nobody was reached, say.
std::optional<ApiError> ApiErrorOf(const Status& status);
// Whether a server said so for that reason ("NamespaceTerminating"), as its own or as a cause.
bool HasReason(const Status& status, std::string_view reason);
// How long the server asked to be left alone; 0 when it did not.
std::chrono::seconds RetryAfterOf(const Status& status);

}  // namespace kgpu::kube
