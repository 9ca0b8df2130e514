// What the server reports about itself: groups, versions, resources, health.
#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr const char* kMinor = "36";

json::array Texts(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::array VerbsOf(const Resource& resource) {
  if (resource.is_review) {
    return {"create"};
  }
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

// Groups with their versions, in the order of the table.
std::vector<std::pair<std::string, std::vector<std::string>>> Groups(
    const ResourceTable& resources) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Resource* resource : resources.All()) {
    auto found = std::ranges::find(groups, resource->group,
                                   &std::pair<std::string, std::vector<std::string>>::first);
    if (found == groups.end()) {
      groups.emplace_back(resource->group, std::vector<std::string>());
      found = std::prev(groups.end());
    }
    if (std::ranges::find(found->second, resource->version) == found->second.end()) {
      found->second.push_back(resource->version);
    }
  }
  return groups;
}

json::object GroupVersion(const std::string& group, const std::string& version) {
  return {{"groupVersion", group.empty() ? version : fmt::format("{}/{}", group, version)},
          {"version", version}};
}

json::object GroupJson(const std::string& group, const std::vector<std::string>& versions) {
  json::array list;
  for (const std::string& version : versions) {
    list.push_back(GroupVersion(group, version));
  }
  return {{"name", group},
          {"versions", std::move(list)},
          {"preferredVersion", GroupVersion(group, versions.front())}};
}

json::object ResourceJson(const Resource& resource) {
  json::object entry = {{"name", resource.plural},
                        {"singularName", resource.singular},
                        {"namespaced", resource.is_namespaced},
                        {"kind", resource.kind},
                        {"verbs", VerbsOf(resource)}};
  if (!resource.short_names.empty()) {
    entry["shortNames"] = Texts(resource.short_names);
  }
  if (!resource.categories.empty()) {
    entry["categories"] = Texts(resource.categories);
  }
  return entry;
}

std::vector<std::string> Subresources(const Resource& resource) {
  std::vector<std::string> names = resource.subresources;
  if (resource.has_status) {
    names.emplace_back("status");
  }
  return names;
}

json::object SubresourceJson(const Resource& resource, const std::string& name) {
  json::object entry = {{"name", fmt::format("{}/{}", resource.plural, name)},
                        {"singularName", ""},
                        {"namespaced", resource.is_namespaced},
                        {"kind", resource.kind},
                        {"verbs", {"get", "patch", "update"}}};
  if (name == "eviction") {
    entry["group"] = "policy";
    entry["version"] = "v1";
    entry["kind"] = "Eviction";
    entry["verbs"] = json::array{"create"};
  } else if (name == "proxy") {
    entry["kind"] = "PodProxyOptions";
    entry["verbs"] = json::array{"create", "delete", "get", "patch", "update"};
  } else if (name == "log") {
    entry["verbs"] = json::array{"get"};
  } else if (name == "token") {
    entry["group"] = "authentication.k8s.io";
    entry["version"] = "v1";
    entry["kind"] = "TokenRequest";
    entry["verbs"] = json::array{"create"};
  }
  return entry;
}

StatusOr<json::object> ResourceList(const ResourceTable& resources, std::string_view group,
                                    std::string_view version) {
  json::array list;
  for (const Resource* resource : resources.All()) {
    if (resource->group != group || resource->version != version) {
      continue;
    }
    list.push_back(ResourceJson(*resource));
    for (const std::string& name : Subresources(*resource)) {
      list.push_back(SubresourceJson(*resource, name));
    }
  }
  if (list.empty()) {
    return Failure(404, "NotFound", "the server could not find the requested resource");
  }
  return json::object{
      {"kind", "APIResourceList"},
      {"apiVersion", "v1"},
      {"groupVersion", group.empty() ? std::string(version) : fmt::format("{}/{}", group, version)},
      {"resources", std::move(list)}};
}

json::object Version() {
  return {
      {"major", "1"},    {"minor", kMinor},    {"gitVersion", fmt::format("v1.{}.0-stub", kMinor)},
      {"gitCommit", ""}, {"gitTreeState", ""}, {"buildDate", "2026-01-01T00:00:00Z"},
      {"goVersion", ""}, {"compiler", ""},     {"platform", "linux/amd64"}};
}

Reply JsonReply(const json::object& body) {
  return {.response = http::JsonResponse(200, json::serialize(body))};
}

json::object GroupList(const ResourceTable& resources) {
  json::array groups;
  for (const auto& [group, versions] : Groups(resources)) {
    if (!group.empty()) {
      groups.push_back(GroupJson(group, versions));
    }
  }
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

StatusOr<Reply> OneGroup(const ResourceTable& resources, const std::string& name) {
  for (const auto& [group, versions] : Groups(resources)) {
    if (group == name) {
      json::object body = GroupJson(group, versions);
      body["kind"] = "APIGroup";
      body["apiVersion"] = "v1";
      return JsonReply(body);
    }
  }
  return Failure(404, "NotFound", "the server could not find the requested resource");
}

// One resource of the aggregated form.
json::object Aggregated(const Resource& resource) {
  const auto kind = [](std::string_view group, std::string_view version, std::string_view name) {
    return json::object{{"group", group}, {"version", version}, {"kind", name}};
  };
  json::object entry = {{"resource", resource.plural},
                        {"responseKind", kind(resource.group, resource.version, resource.kind)},
                        {"scope", resource.is_namespaced ? "Namespaced" : "Cluster"},
                        {"singularResource", resource.singular},
                        {"verbs", VerbsOf(resource)},
                        {"shortNames", Texts(resource.short_names)},
                        {"categories", Texts(resource.categories)}};
  json::array below;
  for (const std::string& name : Subresources(resource)) {
    const json::object plain = SubresourceJson(resource, name);
    below.push_back({{"subresource", name},
                     {"responseKind", kind(TextAt(plain, {"group"}), TextAt(plain, {"version"}),
                                           TextAt(plain, {"kind"}))},
                     {"verbs", plain.at("verbs")}});
  }
  if (!below.empty()) {
    entry["subresources"] = std::move(below);
  }
  return entry;
}

// Everything below /api or /apis in one answer.
Reply AggregatedList(const ResourceTable& resources, bool is_core) {
  json::array items;
  for (const auto& [group, versions] : Groups(resources)) {
    if (group.empty() != is_core) {
      continue;
    }
    json::array shown;
    for (const std::string& version : versions) {
      json::array list;
      for (const Resource* resource : resources.All()) {
        if (resource->group == group && resource->version == version) {
          list.push_back(Aggregated(*resource));
        }
      }
      shown.push_back(
          {{"version", version}, {"resources", std::move(list)}, {"freshness", "Current"}});
    }
    items.push_back({{"metadata", {{"name", group}}}, {"versions", std::move(shown)}});
  }
  http::Response response{.body =
                              json::serialize(json::object{{"kind", "APIGroupDiscoveryList"},
                                                           {"apiVersion", "apidiscovery.k8s.io/v2"},
                                                           {"metadata", json::object()},
                                                           {"items", std::move(items)}})};
  response.headers.Add("Content-Type",
                       "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  return {.response = std::move(response)};
}

bool WantsAggregated(const http::Request& request) {
  const std::string_view accept = request.headers.Find("Accept").value_or("");
  return accept.find("v=v2;as=APIGroupDiscoveryList") != std::string_view::npos;
}

// /openapi/…, /version and health. Nothing when it is none of these.
std::optional<StatusOr<Reply>> About(const ServerState& state, const Route& route,
                                     const http::Request& request) {
  const std::string_view path = route.path;
  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    return Reply{.response = http::TextResponse(200, "ok")};
  }
  if (path == "/version" || path == "/version/") {
    return JsonReply(Version());
  }
  if (!route.parts.empty() && route.parts[0] == "openapi") {
    return ShowOpenApi(state, route, request);
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Reply> Discover(const ServerState& state, const Route& route,
                         const http::Request& request) {
  const std::vector<std::string>& parts = route.parts;
  if (route.method != "GET" && route.method != "HEAD") {
    return Failure(405, "MethodNotAllowed", "only GET is allowed here");
  }
  if (auto about = About(state, route, request); about) {
    return *std::move(about);
  }
  const std::string_view path = route.path;
  const bool is_root = parts.size() == 1 && (parts[0] == "api" || parts[0] == "apis");
  if (is_root && WantsAggregated(request)) {
    return AggregatedList(state.resources, parts[0] == "api");
  }
  if (path == "/api" || path == "/api/") {
    return JsonReply({{"kind", "APIVersions"},
                      {"versions", {"v1"}},
                      {"serverAddressByClientCIDRs", json::array()}});
  }
  if (path == "/apis" || path == "/apis/") {
    return JsonReply(GroupList(state.resources));
  }
  if (parts.size() == 2 && parts[0] == "apis") {
    return OneGroup(state.resources, parts[1]);
  }
  const bool is_core = parts.size() == 2 && parts[0] == "api";
  if (is_core || (parts.size() == 3 && parts[0] == "apis")) {
    ASSIGN_OR_RETURN(const json::object body,
                     ResourceList(state.resources, is_core ? "" : parts[1], parts.back()));
    return JsonReply(body);
  }
  return Failure(404, "NotFound", "the server could not find the requested resource");
}

}  // namespace kgpu::apiserver
