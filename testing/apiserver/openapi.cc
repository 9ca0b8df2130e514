#include "testing/apiserver/openapi.h"

#include <boost/json.hpp>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {

namespace json = boost::json;

StatusOr<Reply> ShowOpenApi(const ServerState& state, const Route& route,
                            const http::Request& request) {
  const std::vector<std::string>& parts = route.parts;
  const auto reply = [](const json::object& body) {
    return Reply{.response = http::JsonResponse(200, json::serialize(body))};
  };
  if (parts.size() == 2 && parts[1] == "v2") {
    if (request.headers.Find("Accept").value_or("").find("protobuf") == std::string_view::npos) {
      return reply(OpenApiV2(state.resources));
    }
    http::Response response{.body = OpenApiV2Proto(state.resources)};
    // Clients ask for "…spec.v2@v1.0+protobuf", which is no media type that they could parse.
    response.headers.Add("Content-Type",
                         "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    return Reply{.response = std::move(response)};
  }
  if (parts.size() >= 2 && parts[1] == "v3") {
    if (parts.size() == 2) {
      return reply(OpenApiV3Index(state.resources));
    }
    if (parts.size() == 4 && parts[2] == "api") {
      return reply(OpenApiV3(state.resources, "", parts[3]));
    }
    if (parts.size() == 5 && parts[2] == "apis") {
      return reply(OpenApiV3(state.resources, parts[3], parts[4]));
    }
  }
  return Failure(404, "NotFound", "the server could not find the requested resource");
}

}  // namespace kgpu::apiserver
