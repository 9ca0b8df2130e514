#include "src/kube/objects/kinds.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include "src/kube/api/json.h"
#include "src/kube/api/query.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

struct KnownKind {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool is_namespaced;
  int order;
};

// Of kinds that are in no table.
constexpr int kOtherOrder = 9;
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";

constexpr std::array<KnownKind, 24> kKnown = {{
    {"", "v1", "namespaces", "Namespace", false, 0},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false,
     1},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false, 2},
    {"", "v1", "serviceaccounts", "ServiceAccount", true, 3},
    {kRbac, "v1", "clusterroles", "ClusterRole", false, 4},
    {kRbac, "v1", "roles", "Role", true, 4},
    {kRbac, "v1", "clusterrolebindings", "ClusterRoleBinding", false, 5},
    {kRbac, "v1", "rolebindings", "RoleBinding", true, 5},
    {"", "v1", "configmaps", "ConfigMap", true, 6},
    {"", "v1", "secrets", "Secret", true, 6},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, 6},
    {"", "v1", "services", "Service", true, 7},
    {kAdmission, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false, 8},
    {kAdmission, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
     false, 8},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true, 8},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, 8},
    {"coordination.k8s.io", "v1", "leases", "Lease", true, 8},
    {"", "v1", "nodes", "Node", false, kOtherOrder},
    {"apps", "v1", "daemonsets", "DaemonSet", true, 10},
    {"apps", "v1", "deployments", "Deployment", true, 10},
    {"apps", "v1", "statefulsets", "StatefulSet", true, 10},
    {"batch", "v1", "jobs", "Job", true, 10},
    {"batch", "v1", "cronjobs", "CronJob", true, 10},
    {"", "v1", "pods", "Pod", true, 10},
}};

const KnownKind* FindKnown(std::string_view group, std::string_view version,
                           std::string_view kind) {
  const auto* const found = std::ranges::find_if(kKnown, [&](const KnownKind& known) {
    return known.group == group && known.version == version && known.kind == kind;
  });
  return found == kKnown.end() ? nullptr : found;
}

const json::array* ListField(const json::value& object,
                             std::initializer_list<std::string_view> path) {
  const json::value* value = FindField(object, path);
  return value == nullptr ? nullptr : value->if_array();
}

bool HasVerb(const json::value& entry, std::string_view verb) {
  const json::array* verbs = ListField(entry, {"verbs"});
  return verbs != nullptr && std::ranges::any_of(*verbs, [&](const json::value& item) {
           return item.is_string() && std::string_view(item.get_string()) == verb;
         });
}

// The kinds of an APIResourceList.
std::vector<Kind> KindsOf(const json::value& list, const std::string& api_version) {
  std::vector<Kind> kinds;
  const json::array* entries = ListField(list, {"resources"});
  for (size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    const json::value& entry = (*entries)[i];
    const std::string_view plural = TextField(entry, {"name"});
    const json::value* is_namespaced = FindField(entry, {"namespaced"});
    if (plural.empty() || plural.find('/') != std::string_view::npos) {
      continue;  // a subresource
    }
    kinds.push_back({.group = std::string(GroupOf(api_version)),
                     .version = std::string(VersionPartOf(api_version)),
                     .plural = std::string(plural),
                     .kind = std::string(TextField(entry, {"kind"})),
                     .is_namespaced = is_namespaced != nullptr && is_namespaced->is_bool() &&
                                      is_namespaced->get_bool(),
                     .is_listed = HasVerb(entry, "list") && HasVerb(entry, "delete")});
  }
  return kinds;
}

}  // namespace

ObjectRef RefOf(const json::value& object) {
  return {.api_version = std::string(TextField(object, {"apiVersion"})),
          .kind = std::string(TextField(object, {"kind"})),
          .space = std::string(NamespaceOf(object)),
          .name = std::string(NameOf(object))};
}

std::string TextOf(const ObjectRef& ref) {
  return ref.space.empty() ? fmt::format("{} {}", ref.kind, ref.name)
                           : fmt::format("{} {}/{}", ref.kind, ref.space, ref.name);
}

std::string_view GroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string_view VersionPartOf(std::string_view api_version) {
  return api_version.substr(api_version.find('/') + 1);  // npos + 1 is 0
}

int OrderOf(const ObjectRef& ref) {
  const KnownKind* known =
      FindKnown(GroupOf(ref.api_version), VersionPartOf(ref.api_version), ref.kind);
  return known == nullptr ? kOtherOrder : known->order;
}

void SortForApply(std::vector<json::value>& objects) {
  std::ranges::stable_sort(objects, {},
                           [](const json::value& object) { return OrderOf(RefOf(object)); });
}

StatusOr<Kind> Kinds::Find(const std::string& api_version, const std::string& kind) {
  const std::string_view group = GroupOf(api_version);
  const std::string_view version = VersionPartOf(api_version);
  if (const KnownKind* known = FindKnown(group, version, kind)) {
    return Kind{.group = std::string(group),
                .version = std::string(version),
                .plural = std::string(known->plural),
                .kind = kind,
                .is_namespaced = known->is_namespaced};
  }
  if (const auto learned = known_.find({api_version, kind}); learned != known_.end()) {
    return learned->second;
  }
  const StatusOr<std::vector<Kind>> kinds = Discover(api_version);
  if (!kinds.ok() && kinds.status().code() != StatusCode::kNotFound) {
    return kinds.status();
  }
  for (const Kind& found : kinds.ok() ? *kinds : std::vector<Kind>()) {
    known_.emplace(std::pair(api_version, found.kind), found);
  }
  if (const auto learned = known_.find({api_version, kind}); learned != known_.end()) {
    return learned->second;
  }
  return NotFound(
      "this cluster does not serve {} of {}: install the software that defines the kind, or leave "
      "the object out",
      kind, api_version);
}

StatusOr<std::string> Kinds::PathOf(const ObjectRef& ref) {
  ASSIGN_OR_RETURN(const Kind kind, Find(ref.api_version, ref.kind));
  if (kind.is_namespaced && ref.space.empty()) {
    return InvalidArgument("{}: metadata.namespace must be set", TextOf(ref));
  }
  if (!kind.is_namespaced && !ref.space.empty()) {
    return InvalidArgument("{}: metadata.namespace must not be set: {} has no namespace",
                           TextOf(ref), ref.kind);
  }
  return kind.resource().Object(ref.space, ref.name);
}

void Kinds::Learn(const json::value& definition) {
  const std::string group(TextField(definition, {"spec", "group"}));
  const json::array* versions = ListField(definition, {"spec", "versions"});
  for (size_t i = 0; versions != nullptr && i < versions->size(); ++i) {
    Kind kind{.group = group,
              .version = std::string(TextField((*versions)[i], {"name"})),
              .plural = std::string(TextField(definition, {"spec", "names", "plural"})),
              .kind = std::string(TextField(definition, {"spec", "names", "kind"})),
              .is_namespaced = TextField(definition, {"spec", "scope"}) != "Cluster"};
    const std::pair key(kind.ApiVersion(), kind.kind);
    known_.insert_or_assign(key, std::move(kind));
  }
}

StatusOr<std::vector<Kind>> Kinds::Discover(const std::string& api_version) {
  const std::string_view group = GroupOf(api_version);
  const std::string path = group.empty()
                               ? kube::PathOf({"api", VersionPartOf(api_version)})
                               : kube::PathOf({"apis", group, VersionPartOf(api_version)});
  ASSIGN_OR_RETURN(const json::value list, client_.Send({.path = path}));
  return KindsOf(list, api_version);
}

StatusOr<std::vector<Kind>> Kinds::All() {
  ASSIGN_OR_RETURN(std::vector<Kind> all, Discover("v1"));
  ASSIGN_OR_RETURN(const json::value groups, client_.Send({.path = "/apis"}));
  const json::array* list = ListField(groups, {"groups"});
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string version(TextField((*list)[i], {"preferredVersion", "groupVersion"}));
    const StatusOr<std::vector<Kind>> kinds = Discover(version);
    if (kinds.ok()) {
      all.insert(all.end(), kinds->begin(), kinds->end());
    } else if (kinds.status().code() != StatusCode::kUnavailable &&
               kinds.status().code() != StatusCode::kNotFound) {
      return kinds.status();
    }
  }
  return all;
}

}  // namespace kgpu::kube
