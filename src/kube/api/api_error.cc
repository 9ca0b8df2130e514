#include "src/kube/api/api_error.h"

#include <absl/strings/cord.h>
#include <absl/strings/string_view.h>
#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr char kPayload[] = "kgpu.dev/api-error";
// Limit for the server's own words: nobody needs longer ones.
constexpr size_t kMaxText = 1024;
constexpr size_t kMaxCauses = 32;
// Servers ask for half a minute at most; one that asks for hours is not obeyed for hours.
constexpr int64_t kMaxRetryAfter = 600;

std::string Cut(std::string_view text) {
  return Printable(text, kMaxText);
}

StatusCode CodeOf(const ApiError& error) {
  switch (error.code) {
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 405:
    case 406:
    case 415:
      return StatusCode::kUnimplemented;
    case 408:
    case 429:
      return StatusCode::kUnavailable;
    case 409:
      return error.reason == "AlreadyExists" ? StatusCode::kAlreadyExists : StatusCode::kAborted;
    case 410:
      return StatusCode::kOutOfRange;
    default:
      break;
  }
  if (error.code < 400) {
    return StatusCode::kFailedPrecondition;
  }
  return error.code < 500 ? StatusCode::kInvalidArgument : StatusCode::kUnavailable;
}

// What to do about it, if the server does not say so.
std::string_view FixOf(const ApiError& error) {
  if (error.code < 400) {
    return ": redirected: use the address of the API server itself";
  }
  switch (error.code) {
    case 401:
      return ": use valid credentials";
    case 403:
      return ": allow it with an RBAC role";
    default:
      return error.reason.empty() && error.code != 404
                 ? ": not an answer of an API server: check for a proxy"
                 : "";
  }
}

std::optional<seconds> SecondsOf(std::optional<int64_t> count) {
  if (!count || *count < 0) {
    return std::nullopt;
  }
  return seconds(std::min(*count, kMaxRetryAfter));
}

void ReadObject(const json::value& object, ApiError& error) {
  error.reason = Cut(TextField(object, {"reason"}));
  error.message = Cut(TextField(object, {"message"}));
  error.continue_token = TextField(object, {"metadata", "continue"});
  if (!error.retry_after) {
    error.retry_after = SecondsOf(IntField(object, {"details", "retryAfterSeconds"}));
  }
  const json::value* causes = FindField(object, {"details", "causes"});
  const json::array* list = causes == nullptr ? nullptr : causes->if_array();
  for (size_t i = 0; list != nullptr && i < std::min(list->size(), kMaxCauses); ++i) {
    const json::value& cause = (*list)[i];
    error.causes.push_back({.reason = Cut(TextField(cause, {"reason"})),
                            .message = Cut(TextField(cause, {"message"})),
                            .field = Cut(TextField(cause, {"field"}))});
  }
}

json::value PayloadOf(const ApiError& error) {
  json::array causes;
  for (const ErrorCause& cause : error.causes) {
    causes.push_back(
        {{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  json::object payload = {{"code", error.code},
                          {"reason", error.reason},
                          {"message", error.message},
                          {"metadata", json::object{{"continue", error.continue_token}}},
                          {"details", json::object{{"causes", std::move(causes)}}}};
  if (error.retry_after) {
    payload["details"].as_object()["retryAfterSeconds"] = error.retry_after->count();
  }
  return payload;
}

Status MakeError(const ApiError& error, std::string_view what) {
  const std::string said =
      error.message.empty() ? std::string(http::ReasonPhrase(error.code)) : error.message;
  Status status = MakeStatus(
      CodeOf(error), fmt::format("{}: {} ({}{}{}){}", what, said, error.code,
                                 error.reason.empty() ? "" : " ", error.reason, FixOf(error)));
  const std::string payload = json::serialize(PayloadOf(error));
  // Not of the text itself: compilers name that constructor differently, and the archive has one.
  status.SetPayload(kPayload, absl::Cord(absl::string_view(payload.data(), payload.size())));
  return status;
}

}  // namespace

Status StatusOfAnswer(int code, const http::Headers& headers, std::string_view body,
                      std::string_view what) {
  if (code >= 200 && code < 300) {
    return OkStatus();
  }
  ApiError error{.code = code};
  if (const auto field = headers.Find("Retry-After")) {
    if (const auto count = ParseUint(Trim(*field))) {
      error.retry_after = seconds(std::min<uint64_t>(*count, kMaxRetryAfter));
    }
  }
  const StatusOr<json::value> object = ParseObject(body, what);
  if (object.ok() && TextField(*object, {"kind"}) == "Status") {
    ReadObject(*object, error);
  }
  return MakeError(error, what);
}

Status StatusOfObject(const json::value& object, std::string_view what) {
  ApiError error;
  // One without a code is a server's own mistake, as 500 is.
  const int64_t code = IntField(object, {"code"}).value_or(500);
  error.code = code >= 400 && code < 600 ? static_cast<int>(code) : 500;
  ReadObject(object, error);
  return MakeError(error, what);
}

std::optional<ApiError> ApiErrorOf(const Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload) {
    return std::nullopt;
  }
  const StatusOr<json::value> object = ParseObject(std::string(*payload), kPayload);
  if (!object.ok()) {
    return std::nullopt;
  }
  ApiError error{.code = static_cast<int>(IntField(*object, {"code"}).value_or(0))};
  ReadObject(*object, error);
  return error;
}

bool HasReason(const Status& status, std::string_view reason) {
  const std::optional<ApiError> error = ApiErrorOf(status);
  return error && (error->reason == reason ||
                   std::ranges::any_of(error->causes, [&](const ErrorCause& cause) {
                     return cause.reason == reason;
                   }));
}

seconds RetryAfterOf(const Status& status) {
  const std::optional<ApiError> error = ApiErrorOf(status);
  return error ? error->retry_after.value_or(seconds(0)) : seconds(0);
}

}  // namespace kgpu::kube
