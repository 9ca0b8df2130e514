#include "src/functions/gateway/routes.h"

#include <algorithm>
#include <array>

namespace kgpu::gateway {
namespace {

constexpr std::string_view kRest = "{Path}";
constexpr std::string_view kFunctions = "/system/functions";
constexpr std::string_view kFunction = "/system/function/{FunctionName}";
constexpr std::string_view kScale = "/system/scale-function";
constexpr std::string_view kCall = "/function/{FunctionName}{Path}";
constexpr std::string_view kAsyncCall = "/async-function/{FunctionName}{Path}";
constexpr std::string_view kCallText = "Call a function, and wait for its answer";
constexpr std::string_view kAsyncText =
    "Queue a call of a function; 202 with its X-Call-Id once it is queued";

constexpr std::array kRoutes = std::to_array<Route>({
    {"GET", kFunctions, "listFunctions", Role::kRead, "List the functions", "", "Functions"},
    {"POST", kFunctions, "createFunction", Role::kDeploy,
     "Deploy a new function; 409 if there is one of the name", "CreateFunctionRequest", "Message"},
    {"PUT", kFunctions, "updateFunction", Role::kDeploy,
     "Replace a function; 404 if there is none of the name. ?replace=true: all replicas, too",
     "CreateFunctionRequest", "Message"},
    {"GET", kFunction, "getFunction", Role::kRead, "Show one function", "", "Function"},
    {"DELETE", kFunction, "deleteFunction", Role::kDeploy, "Delete a function", "", "Message"},
    {"GET", "/system/function-log/{FunctionName}", "getFunctionLog", Role::kRead,
     "Show the log of a function. ?follow=true: until the connection ends; ?since=10m, ?tail=20",
     "", "Message"},
    {"PUT", kScale, "scaleFunction", Role::kDeploy,
     "Set the smallest number of replicas of a function", "ScaleServiceRequest", "Message"},
    {"GET", "/system/info", "getInfo", Role::kRead, "Show provider and version", "", "Message"},
    {"GET", "/healthz", "getHealth", Role::kNone, "Whether the function service answers", "",
     "Message"},
    {"GET", kCall, "callByGet", Role::kCall, kCallText, "", "*"},
    {"POST", kCall, "callByPost", Role::kCall, kCallText, "*", "*"},
    {"PUT", kCall, "callByPut", Role::kCall, kCallText, "*", "*"},
    {"PATCH", kCall, "callByPatch", Role::kCall, kCallText, "*", "*"},
    {"DELETE", kCall, "callByDelete", Role::kCall, kCallText, "*", "*"},
    {"OPTIONS", kCall, "callByOptions", Role::kCall, kCallText, "", "*"},
    {"GET", kAsyncCall, "queueByGet", Role::kCall, kAsyncText, "", ""},
    {"POST", kAsyncCall, "queueByPost", Role::kCall, kAsyncText, "*", ""},
    {"PUT", kAsyncCall, "queueByPut", Role::kCall, kAsyncText, "*", ""},
    {"PATCH", kAsyncCall, "queueByPatch", Role::kCall, kAsyncText, "*", ""},
    {"DELETE", kAsyncCall, "queueByDelete", Role::kCall, kAsyncText, "*", ""},
    {"GET", "/v1/usage", "getUsage", Role::kRead, "Use by function. ?since=24h", "", "Object"},
    {"GET", "/v1/queue", "listQueue", Role::kRead,
     "List queued calls. ?function=NAME, ?state=waiting, running or dead", "", "Object"},
    {"POST", "/v1/queue/retry", "retryQueue", Role::kAdmin, "Try queued calls again at once",
     "Object", "Object"},
    {"POST", "/v1/queue/purge", "purgeQueue", Role::kAdmin, "Remove queued calls", "Object",
     "Object"},
    {"GET", "/metrics", "getMetrics", Role::kRead,
     "Metrics of the functions and of the gateway, for Prometheus", "", "*", Answerer::kMetrics},
    {"GET", "/openapi.json", "getDocument", Role::kNone, "This document", "", "Object",
     Answerer::kDocument},
    {"GET", "/swagger.json", "getSwagger", Role::kNone, "Redirects to /openapi.json", "", "",
     Answerer::kRedirect},
});

// Takes one segment, which is not empty, off the front.
bool TakeSegment(std::string_view& path) {
  const size_t size = std::min(path.find('/'), path.size());
  path.remove_prefix(size);
  return size > 0;
}

bool IsMatch(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (pattern == kRest) {
      return path.empty() || path.starts_with('/');
    }
    if (pattern.front() == '{') {
      if (!TakeSegment(path)) {
        return false;
      }
      pattern.remove_prefix(pattern.find('}') + 1);
      continue;
    }
    const std::string_view fixed = pattern.substr(0, pattern.find('{'));
    if (!path.starts_with(fixed)) {
      return false;
    }
    pattern.remove_prefix(fixed.size());
    path.remove_prefix(fixed.size());
  }
  return path.empty();
}

}  // namespace

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kCall:
      return "call";
    case Role::kRead:
      return "read";
    case Role::kDeploy:
      return "deploy";
    case Role::kAdmin:
      return "admin";
  }
  return "none";
}

std::span<const Route> Routes() {
  return kRoutes;
}

RouteMatch FindRoute(std::string_view method, std::string_view path) {
  RouteMatch match;
  const Route* as_get = nullptr;
  for (const Route& route : kRoutes) {
    if (!IsMatch(route.path, path)) {
      continue;
    }
    if (route.method == method) {
      return {.route = &route};
    }
    if (route.method == "GET" && method == "HEAD") {
      as_get = &route;
    }
    match.allowed += match.allowed.empty() ? "" : ", ";
    match.allowed += route.method;
  }
  if (as_get != nullptr) {
    return {.route = as_get};
  }
  return match;
}

std::string SpaceOf(const Route& route, const http::Request& request,
                    std::span<const std::string> spaces) {
  constexpr std::string_view kFunctionName = "{FunctionName}";
  const size_t at = route.path.find(kFunctionName);
  const bool is_of_one =
      at != std::string_view::npos || route.path == kFunctions || route.path == kScale;
  if (!is_of_one && spaces.size() > 1) {
    return "";
  }
  if (at != std::string_view::npos) {
    std::string_view name = std::string_view(request.path).substr(at);
    name = name.substr(0, name.find('/'));
    if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
      return std::string(name.substr(dot + 1));
    }
  }
  // The query of a call is the handler's.
  const bool is_call = route.role == Role::kCall;
  const auto named = is_of_one && !is_call ? request.QueryValue("namespace") : std::nullopt;
  return named && !named->empty() ? std::string(*named) : spaces.front();
}

}  // namespace kgpu::gateway
