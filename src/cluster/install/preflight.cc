#include "src/cluster/install/preflight.h"

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/kube/api/access_review.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/node/object/owners.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kPreflightTime{30'000};
constexpr kube::Resource kDaemonSets{"apps", "v1", "daemonsets"};

// Group and version of everything that the cluster serves.
StatusOr<std::set<std::string>> ServedVersions(kube::BlockingClient& client) {
  ASSIGN_OR_RETURN(const json::value groups,
                   kube::SendUntilReached(client, {.path = "/apis"}, kPreflightTime));
  std::set<std::string> served = {"v1"};
  const json::value* list = kube::FindField(groups, {"groups"});
  for (const json::value& group :
       list != nullptr && list->is_array() ? list->get_array() : json::array()) {
    const json::value* versions = kube::FindField(group, {"versions"});
    for (const json::value& version :
         versions != nullptr && versions->is_array() ? versions->get_array() : json::array()) {
      served.emplace(kube::TextField(version, {"groupVersion"}));
    }
  }
  return served;
}

// The software that a DaemonSet's pods belong to.
std::optional<node::Owner> OwnerOfDaemonSet(const json::value& daemon_set) {
  const json::value* metadata = kube::FindField(daemon_set, {"spec", "template", "metadata"});
  const json::value* spec = kube::FindField(daemon_set, {"spec", "template", "spec"});
  json::value pod = {{"metadata", metadata == nullptr ? json::object() : *metadata},
                     {"spec", spec == nullptr ? json::object() : *spec}};
  if (pod.at("metadata").is_object()) {
    json::object& fields = pod.at("metadata").get_object();
    fields["name"] = json::string(kube::NameOf(daemon_set));
    fields["namespace"] = json::string(kube::NamespaceOf(daemon_set));
  }
  return node::OwnerOfPod(node::ReadPod(pod));
}

}  // namespace

std::string TextOf(const Permission& permission) {
  return fmt::format("{} {}{}{}{}{}", permission.verb, permission.plural,
                     permission.group.empty() ? "" : ".", permission.group,
                     permission.space.empty() ? "" : " in ", permission.space);
}

StatusOr<std::vector<Permission>> PermissionsFor(kube::Kinds& kinds,
                                                 const std::vector<kube::ObjectRef>& refs,
                                                 const std::vector<std::string>& verbs) {
  std::set<Permission> needed;
  for (const kube::ObjectRef& ref : refs) {
    const StatusOr<kube::Kind> kind = kinds.Find(ref.api_version, ref.kind);
    if (kind.status().code() == StatusCode::kNotFound) {
      continue;
    }
    RETURN_IF_ERROR(kind.status());
    for (const std::string& verb : verbs) {
      needed.insert({verb, kind->group, kind->plural, ref.space});
    }
  }
  return std::vector<Permission>(needed.begin(), needed.end());
}

Status CheckPermissions(kube::BlockingClient& client, const std::vector<Permission>& permissions) {
  std::vector<std::string> missing;
  for (const Permission& permission : permissions) {
    kube::ApiRequest request{.method = "POST",
                             .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                             .content_type = "application/json"};
    request.body = kube::BodyOf({{"apiVersion", "authorization.k8s.io/v1"},
                                 {"kind", "SelfSubjectAccessReview"},
                                 {"spec",
                                  {{"resourceAttributes",
                                    {{"verb", permission.verb},
                                     {"group", permission.group},
                                     {"resource", permission.plural},
                                     {"namespace", permission.space}}}}}});
    ASSIGN_OR_RETURN(const json::value review,
                     kube::SendUntilReached(client, request, kPreflightTime));
    const json::value* allowed = kube::FindField(review, {"status", "allowed"});
    if (allowed == nullptr || !allowed->is_bool() || !allowed->get_bool()) {
      missing.push_back(TextOf(permission));
    }
  }
  return missing.empty()
             ? OkStatus()
             : PermissionDenied(
                   "your credentials may not: {}: use those of a cluster admin, or have these "
                   "granted",
                   Join(missing, ", "));
}

Status CheckKinds(kube::BlockingClient& client, const std::vector<json::value>& objects) {
  ASSIGN_OR_RETURN(const std::set<std::string> served, ServedVersions(client));
  std::set<std::string> defined;  // groups of definitions among the objects
  for (const json::value& object : objects) {
    if (kube::TextField(object, {"kind"}) == "CustomResourceDefinition") {
      defined.emplace(kube::TextField(object, {"spec", "group"}));
    }
  }
  std::vector<std::string> problems;
  for (const json::value& object : objects) {
    const kube::ObjectRef ref = kube::RefOf(object);
    if (!served.contains(ref.api_version) &&
        !defined.contains(std::string(kube::GroupOf(ref.api_version)))) {
      problems.push_back(fmt::format("{} ({})", kube::TextOf(ref), ref.api_version));
    }
  }
  return problems.empty()
             ? OkStatus()
             : Unimplemented(
                   "this cluster does not serve the API of: {}: upgrade it, install what defines "
                   "the kind, or switch the part off in the values",
                   Join(problems, ", "));
}

Status CheckInstall(kube::BlockingClient& client, kube::Kinds& kinds,
                    const std::vector<json::value>& objects) {
  RETURN_IF_ERROR(CheckKinds(client, objects));
  std::vector<kube::ObjectRef> refs;
  refs.reserve(objects.size());
  for (const json::value& object : objects) {
    refs.push_back(kube::RefOf(object));
  }
  ASSIGN_OR_RETURN(const std::vector<Permission> needed,
                   PermissionsFor(kinds, refs, {"get", "create", "patch"}));
  return CheckPermissions(client, needed);
}

StatusOr<std::vector<std::string>> FindOtherSoftware(kube::BlockingClient& client) {
  ASSIGN_OR_RETURN(const std::vector<json::value> daemon_sets,
                   kube::ListAll(client, kDaemonSets.Collection()));
  std::vector<std::string> found;
  for (const json::value& daemon_set : daemon_sets) {
    if (const std::optional<node::Owner> owner = OwnerOfDaemonSet(daemon_set)) {
      found.push_back(fmt::format("{} (DaemonSet {}/{})", node::TitleOf(*owner),
                                  kube::NamespaceOf(daemon_set), kube::NameOf(daemon_set)));
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace kgpu::install
