#include "testing/apiserver/rbac.h"

#include <boost/json.hpp>

#include <algorithm>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr const char* kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
constexpr const char* kClusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io";
constexpr const char* kRoles = "roles.rbac.authorization.k8s.io";
constexpr const char* kRoleBindings = "rolebindings.rbac.authorization.k8s.io";

bool Lists(const json::object& rule, std::string_view field, std::string_view text) {
  return std::ranges::any_of(ItemsAt(rule, {field}),
                             [text](const json::value& item) { return PlainText(&item) == text; });
}

bool ListsOrAll(const json::object& rule, std::string_view field, std::string_view text) {
  return Lists(rule, field, text) || Lists(rule, field, "*");
}

// "/healthz/*" is everything below.
bool MatchesPath(std::string_view pattern, std::string_view path) {
  return pattern == path ||
         (pattern.ends_with('*') && path.starts_with(pattern.substr(0, pattern.size() - 1)));
}

bool MatchesResource(const json::object& rule, const AccessRequest& request) {
  const size_t slash = request.resource.find('/');
  const bool is_any_parent =
      slash != std::string::npos &&
      Lists(rule, "resources", fmt::format("*{}", request.resource.substr(slash)));
  const bool has_name = ItemsAt(rule, {"resourceNames"}).empty() ||
                        (!request.name.empty() && Lists(rule, "resourceNames", request.name));
  return ListsOrAll(rule, "apiGroups", request.group) &&
         (ListsOrAll(rule, "resources", request.resource) || is_any_parent) && has_name;
}

bool Matches(const json::object& rule, const AccessRequest& request) {
  if (!ListsOrAll(rule, "verbs", request.verb)) {
    return false;
  }
  if (!request.resource.empty()) {
    return MatchesResource(rule, request);
  }
  return std::ranges::any_of(ItemsAt(rule, {"nonResourceURLs"}), [&](const json::value& item) {
    return MatchesPath(PlainText(&item), request.path);
  });
}

bool Names(const json::object& binding, const User& user) {
  return std::ranges::any_of(ItemsAt(binding, {"subjects"}), [&](const json::value& item) {
    const json::object none;
    const json::object& subject = item.is_object() ? item.get_object() : none;
    const std::string_view kind = TextAt(subject, {"kind"});
    const std::string name(TextAt(subject, {"name"}));
    if (kind == "ServiceAccount") {
      return user.name ==
             fmt::format("system:serviceaccount:{}:{}", TextAt(subject, {"namespace"}), name);
    }
    return kind == "Group" ? std::ranges::find(user.groups, name) != user.groups.end()
                           : user.name == name;
  });
}

std::string Qualified(const std::string& resource, const std::string& group) {
  return group.empty() ? resource : fmt::format("{}.{}", resource, group);
}

// What a rule allows, a line for each verb and resource.
std::vector<std::string> LinesOf(const json::object& rule, std::string_view role) {
  std::vector<std::string> lines;
  for (const json::value& verb : ItemsAt(rule, {"verbs"})) {
    for (const json::value& path : ItemsAt(rule, {"nonResourceURLs"})) {
      lines.push_back(fmt::format("{} {} {}", role, PlainText(&verb), PlainText(&path)));
    }
    for (const json::value& group : ItemsAt(rule, {"apiGroups"})) {
      for (const json::value& resource : ItemsAt(rule, {"resources"})) {
        lines.push_back(fmt::format("{} {} {}", role, PlainText(&verb),
                                    Qualified(PlainText(&resource), PlainText(&group))));
      }
    }
  }
  return lines;
}

json::array Sorted(const std::set<std::string>& lines) {
  json::array list;
  for (const std::string& line : lines) {
    list.emplace_back(line);
  }
  return list;
}

}  // namespace

struct Rbac::Rules {
  std::string role;  // "ClusterRole/kgpu-agent"
  StoredPtr object;
};

AccessRequest AccessRequestOf(const Route& route) {
  AccessRequest request{.verb = route.verb == "apply" ? "patch" : route.verb, .path = route.path};
  if (route.resource != nullptr) {
    request.group = route.resource->group;
    request.resource = route.subresource.empty()
                           ? route.resource->plural
                           : fmt::format("{}/{}", route.resource->plural, route.subresource);
    request.name = route.name;
    request.name_space = route.name_space;
  }
  return request;
}

AccessRequest AccessRequestOfReview(const json::object& spec) {
  const auto text = [&spec](std::string_view kind, std::string_view field) {
    return std::string(TextAt(spec, {kind, field}));
  };
  constexpr std::string_view kResource = "resourceAttributes";
  constexpr std::string_view kPath = "nonResourceAttributes";
  if (ObjectAt(spec, {kPath}) != nullptr) {
    return {.verb = text(kPath, "verb"), .path = text(kPath, "path")};
  }
  const std::string subresource = text(kResource, "subresource");
  return {.verb = text(kResource, "verb"),
          .group = text(kResource, "group"),
          .resource = text(kResource, "resource") + (subresource.empty() ? "" : "/" + subresource),
          .name = text(kResource, "name"),
          .name_space = text(kResource, "namespace")};
}

std::vector<Rbac::Rules> Rbac::RulesOf(const User& user, const std::string& name_space) const {
  std::vector<Rules> rules;
  const auto add = [&](const json::object& binding, const std::string& place) {
    const std::string kind(TextAt(binding, {"roleRef", "kind"}));
    const std::string name(TextAt(binding, {"roleRef", "name"}));
    const bool is_local = kind == "Role";
    const StoredPtr role = store_.Get(is_local ? kRoles : kClusterRoles,
                                      {.name_space = is_local ? place : "", .name = name});
    if (role != nullptr && Names(binding, user)) {
      rules.push_back({.role = fmt::format("{}/{}", kind, name), .object = role});
    }
  };
  for (const auto& [key, binding] : store_.All(kClusterRoleBindings)) {
    add(binding->object(), "");
  }
  for (const auto& [key, binding] : store_.All(kRoleBindings)) {
    if (!name_space.empty() && key.name_space == name_space) {
      add(binding->object(), name_space);
    }
  }
  return rules;
}

bool Rbac::Allows(const User& user, const AccessRequest& request) {
  if (std::ranges::find(user.groups, "system:masters") != user.groups.end()) {
    return true;
  }
  for (const Rules& rules : RulesOf(user, request.name_space)) {
    for (const json::value& rule : ItemsAt(rules.object->object(), {"rules"})) {
      if (!rule.is_object() || !Matches(rule.get_object(), request)) {
        continue;
      }
      allowed_.insert(fmt::format(
          "{} {} {}", rules.role, request.verb,
          request.resource.empty() ? request.path : Qualified(request.resource, request.group)));
      return true;
    }
  }
  return false;
}

Status Rbac::Check(const User& user, const AccessRequest& request) {
  if (Allows(user, request)) {
    return OkStatus();
  }
  if (request.resource.empty()) {
    denied_.insert(fmt::format("{} {} {}", user.name, request.verb, request.path));
    return Failure(403, "Forbidden",
                   fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user.name,
                               request.verb, request.path));
  }
  const std::string what = Qualified(request.resource, request.group);
  denied_.insert(fmt::format("{} {} {}", user.name, request.verb, what));
  const std::string subject =
      request.name.empty() ? what : fmt::format("{} \"{}\"", what, request.name);
  const std::string place = request.name_space.empty()
                                ? "at the cluster scope"
                                : fmt::format("in the namespace \"{}\"", request.name_space);
  return Failure(
      403, "Forbidden",
      fmt::format("{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                  subject, user.name, request.verb, request.resource, request.group, place),
      {{"name", request.name}, {"group", request.group}, {"kind", request.resource}});
}

json::object Rbac::ToJson() const {
  std::set<std::string> unused;
  for (const char* storage : {kClusterRoles, kRoles}) {
    for (const auto& [key, role] : store_.All(storage)) {
      const std::string name =
          fmt::format("{}/{}", storage == kRoles ? "Role" : "ClusterRole", key.name);
      for (const json::value& rule : ItemsAt(role->object(), {"rules"})) {
        for (const std::string& line :
             rule.is_object() ? LinesOf(rule.get_object(), name) : std::vector<std::string>()) {
          if (!allowed_.contains(line)) {
            unused.insert(line);
          }
        }
      }
    }
  }
  return {{"allowed", Sorted(allowed_)}, {"denied", Sorted(denied_)}, {"unused", Sorted(unused)}};
}

void Rbac::Forget() {
  allowed_.clear();
  denied_.clear();
}

}  // namespace kgpu::apiserver
