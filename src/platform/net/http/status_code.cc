#include "src/platform/net/http/status_code.h"

#include <algorithm>
#include <array>

namespace kgpu::http {
namespace {

struct Name {
  int code;
  std::string_view phrase;
};

// Source: RFC 9110, section 15; RFC 6585; RFC 4918, section 11.5.
constexpr std::array<Name, 32> kNames = {{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

struct Meaning {
  int code;
  StatusCode status;
};

// CodeOf uses the first line for a status.
constexpr std::array<Meaning, 15> kMeanings = {{
    {400, StatusCode::kInvalidArgument},
    {401, StatusCode::kUnauthenticated},
    {403, StatusCode::kPermissionDenied},
    {404, StatusCode::kNotFound},
    {409, StatusCode::kAlreadyExists},
    {410, StatusCode::kNotFound},
    {412, StatusCode::kFailedPrecondition},
    {413, StatusCode::kOutOfRange},
    {416, StatusCode::kOutOfRange},
    {429, StatusCode::kResourceExhausted},
    {431, StatusCode::kOutOfRange},
    {501, StatusCode::kUnimplemented},
    {503, StatusCode::kUnavailable},
    {502, StatusCode::kUnavailable},
    {504, StatusCode::kDeadlineExceeded},
}};

}  // namespace

std::string_view ReasonPhrase(int code) {
  const auto* found = std::ranges::find(kNames, code, &Name::code);
  return found == kNames.end() ? "Unknown" : found->phrase;
}

int CodeOf(const Status& status) {
  if (status.ok()) {
    return 200;
  }
  const auto* found = std::ranges::find(kMeanings, status.code(), &Meaning::status);
  return found == kMeanings.end() ? 500 : found->code;
}

Status StatusOf(int code, std::string_view text) {
  if (code < 400) {
    return OkStatus();
  }
  if (const auto* found = std::ranges::find(kMeanings, code, &Meaning::code);
      found != kMeanings.end()) {
    return MakeStatus(found->status, text);
  }
  return MakeStatus(code < 500 ? StatusCode::kInvalidArgument : StatusCode::kUnavailable, text);
}

}  // namespace kgpu::http
