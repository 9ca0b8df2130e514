#include "src/functions/service/service_request.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/functions/service/async_call.h"
#include "src/functions/service/function_call.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {

bool IsCallMethod(std::string_view method, bool is_async) {
  static constexpr std::array<std::string_view, 5> kMethods = {"GET", "POST", "PUT", "PATCH",
                                                               "DELETE"};
  // Their callers want the answer.
  const bool is_question = method == "HEAD" || method == "OPTIONS";
  return std::ranges::find(kMethods, method) != kMethods.end() || (is_question && !is_async);
}

Status CheckCall(const http::Request& request, const Calls& calls) {
  // Which of two is meant, nobody can tell.
  for (const char* name : {kCallIdHeader, kCallbackHeader, kIdempotencyHeader, kDeadlineHeader}) {
    if (request.headers.Count(name) > 1) {
      return InvalidArgument("{}: must not be given twice", name);
    }
  }
  if (const auto id = request.headers.Find(kCallIdHeader); id && !IsCallId(*id)) {
    return InvalidArgument("{}: must be up to 128 letters, digits, and any of -_.:", kCallIdHeader);
  }
  if (calls.max_input && std::cmp_greater(request.body.size(), *calls.max_input)) {
    return OutOfRange("the input exceeds {} bytes, the function's maxInput", *calls.max_input);
  }
  return OkStatus();
}

CallTarget TargetOf(const http::Request& request, std::string_view prefix) {
  std::string_view rest = request.path;
  rest.remove_prefix(prefix.size());
  CallTarget target;
  target.name = rest.substr(0, rest.find('/'));
  const size_t name = request.target.find(prefix);
  std::string_view raw = request.target;
  raw.remove_prefix(name == std::string_view::npos ? raw.size() : name + prefix.size());
  const std::string_view raw_name = raw.substr(0, raw.find_first_of("/?"));
  if (raw_name.find('%') != std::string_view::npos) {
    target.name = raw_name;  // no name has an escape, and an escaped "/" ends none
  }
  raw.remove_prefix(raw_name.size());
  target.target = raw.starts_with('/') ? std::string(raw) : "/" + std::string(raw);
  return target;
}

std::string SpaceOf(const http::Request& request) {
  return std::string(request.QueryValue("namespace").value_or(""));
}

StatusOr<ScaleRequest> ParseScale(std::string_view text) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(text, kRequestWhere, {}));
  const boost::json::object* object = root.if_object();
  if (object == nullptr) {
    return InvalidArgument("{}: must be a map with ServiceName and Replicas", kRequestWhere);
  }
  const boost::json::value* name = object->if_contains("ServiceName");
  const boost::json::value* replicas = object->if_contains("Replicas");
  if (name == nullptr || !name->is_string()) {
    return InvalidArgument("{}: ServiceName: must be a string", kRequestWhere);
  }
  std::optional<uint64_t> count;
  if (replicas != nullptr && replicas->is_string()) {
    const boost::json::string& digits = replicas->get_string();
    count = ParseUint({digits.data(), digits.size()});
  } else if (replicas != nullptr && replicas->is_int64() && replicas->get_int64() >= 0) {
    count = static_cast<uint64_t>(replicas->get_int64());
  }
  constexpr uint64_t kMost = 1'000'000;
  if (!count || *count > kMost) {
    return InvalidArgument("{}: Replicas: must be a number from 0", kRequestWhere);
  }
  const boost::json::string& service = name->get_string();
  // Rights are given by namespace, and are checked before the body is read.
  if (service.find('.') != boost::json::string::npos) {
    return InvalidArgument("{}: ServiceName: {} must not hold a namespace: use ?namespace=",
                           kRequestWhere, Printable({service.data(), service.size()}, 80));
  }
  return ScaleRequest{{service.data(), service.size()}, static_cast<int64_t>(*count)};
}

StatusOr<LogRequest> ParseLogRequest(const http::Request& request, WallTime now) {
  LogRequest log;
  if (const auto since = request.QueryValue("since"); since && !since->empty()) {
    if (StatusOr<WallTime> time = ParseTime(*since); time.ok()) {
      log.since = *time;
    } else {
      ASSIGN_OR_RETURN(const std::chrono::seconds ago, ParseSince("since", *since));
      log.since = now - ago;
    }
  }
  if (const auto tail = request.QueryValue("tail"); tail && !tail->empty()) {
    const std::optional<uint64_t> lines = ParseUint(*tail);
    if (!lines) {
      return InvalidArgument("tail: {} must be a number of lines", Printable(*tail));
    }
    log.tail = static_cast<size_t>(*lines);
  }
  return log;
}

bool AcceptsText(const http::Request& request) {
  const auto accept = request.headers.Find("Accept");
  return accept && accept->find("text/plain") != std::string_view::npos;
}

}  // namespace kgpu::functions
