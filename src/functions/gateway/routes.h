// The paths of the gateway's REST API: what dispatches requests, says which role a request needs,
// and is written out as the OpenAPI document. Source: OpenFx's REST API; /v1 and /async-function
// are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/platform/net/http/message.h"

namespace kgpu::gateway {

// What a token may do. Admin includes the others.
enum class Role : uint8_t { kNone, kCall, kRead, kDeploy, kAdmin };

// "call"; "none" for kNone, which needs no token.
std::string_view NameOf(Role role);

// Who answers.
enum class Answerer : uint8_t {
  kService,   // the request is passed on
  kMetrics,   // the service's page and ours
  kDocument,  // the OpenAPI document
  kRedirect,  // to the document
};

struct Route {
  std::string_view method;  // of OpenAPI's words: "GET"
  // "/system/function/{FunctionName}"; "{Path}" at the end stands for any rest, an empty one
  // included.
  std::string_view path;
  std::string_view id;  // operationId, and the label of metrics
  Role role = Role::kNone;
  std::string_view summary;
  std::string_view request = "";   // schema of the body; "*": any bytes
  std::string_view response = "";  // schema of the answer with 200; "*": any bytes
  Answerer answerer = Answerer::kService;
};

// In the order of the document.
std::span<const Route> Routes();

struct RouteMatch {
  const Route* route = nullptr;  // null: none
  std::string allowed{};         // the methods of the path, if only the method is wrong: "GET, PUT"
};

// `path` is decoded. HEAD is GET where a path has no HEAD of its own.
RouteMatch FindRoute(std::string_view method, std::string_view path);

// The namespace that a request is for, as far as tokens are concerned: that of the function in its
// path ("hello.team-a"), else that of its query, else the first of `spaces`. Empty: all of them,
// for requests about every function, unless there is only one.
std::string SpaceOf(const Route& route, const http::Request& request,
                    std::span<const std::string> spaces);

}  // namespace kgpu::gateway
