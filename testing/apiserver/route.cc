#include "testing/apiserver/route.h"

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/apiserver/failure.h"

namespace kgpu::apiserver {
namespace {

Status ParseQuery(std::string_view text, Route& route) {
  for (const std::string_view pair : Split(text, '&')) {
    if (pair.empty()) {
      continue;
    }
    const size_t equals = pair.find('=');
    const auto key = http::Unescape(pair.substr(0, equals), true);
    const auto value =
        http::Unescape(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!key.ok() || !value.ok()) {
      return BadRequest(fmt::format("bad escape in the query: {}", pair));
    }
    route.query.emplace(*key, *value);
  }
  return OkStatus();
}

std::string VerbOf(const Route& route, std::string_view content_type) {
  if (route.method == "GET" || route.method == "HEAD") {
    if (route.IsSet("watch")) {
      return "watch";
    }
    return route.resource != nullptr && route.name.empty() ? "list" : "get";
  }
  if (route.method == "POST") {
    return "create";
  }
  if (route.method == "PUT") {
    return "update";
  }
  if (route.method == "PATCH") {
    return content_type.starts_with("application/apply-patch") ? "apply" : "patch";
  }
  if (route.method == "DELETE") {
    return route.name.empty() ? "deletecollection" : "delete";
  }
  return route.method;
}

// The parts behind /api/V or /apis/G/V.
void ReadResource(const ResourceTable& resources, std::string_view group, std::string_view version,
                  std::vector<std::string> rest, Route& route) {
  route.names_group_version = true;
  // A namespace is both an object and the place of others.
  const bool is_within =
      rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize";
  if (is_within) {
    route.name_space = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.empty() || (rest.size() > 3 && rest[2] != "proxy")) {
    return;
  }
  const Resource* resource = resources.Find(group, version, rest[0]);
  if (resource == nullptr || resource->is_namespaced != is_within) {
    const bool is_over_all = resource != nullptr && resource->is_namespaced && rest.size() == 1;
    if (!is_over_all) {
      return;
    }
  }
  route.resource = resource;
  route.name = rest.size() > 1 ? rest[1] : "";
  route.subresource = rest.size() > 2 ? rest[2] : "";
}

}  // namespace

std::string_view Route::Query(std::string_view key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string_view() : found->second;
}

bool Route::IsSet(std::string_view key) const {
  const std::string_view value = Query(key);
  return value == "1" || value == "true";
}

std::string Route::ResourceName() const {
  if (resource == nullptr) {
    return "";
  }
  return subresource.empty() ? resource->Qualified()
                             : fmt::format("{}/{}", resource->Qualified(), subresource);
}

StatusOr<Route> ParseRoute(const ResourceTable& resources, const http::Request& request) {
  http::Request split = request;
  split.body.clear();
  if (const Status status = http::SplitTarget(split); !status.ok()) {
    return BadRequest(Message(status));
  }
  Route route{.method = request.method, .path = split.path};
  RETURN_IF_ERROR(ParseQuery(split.query, route));
  for (const std::string_view part : Split(route.path, '/')) {
    if (!part.empty()) {
      route.parts.emplace_back(part);
    }
  }
  const std::vector<std::string>& parts = route.parts;
  if (parts.size() > 2 && parts[0] == "api") {
    ReadResource(resources, "", parts[1], {parts.begin() + 2, parts.end()}, route);
  } else if (parts.size() > 3 && parts[0] == "apis") {
    ReadResource(resources, parts[1], parts[2], {parts.begin() + 3, parts.end()}, route);
  }
  route.verb = VerbOf(route, request.headers.Find("Content-Type").value_or(""));
  return route;
}

}  // namespace kgpu::apiserver
