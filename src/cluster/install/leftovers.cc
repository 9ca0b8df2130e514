#include "src/cluster/install/leftovers.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/cluster/install/record.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/node/object/object_writer.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

constexpr size_t kMaxNamed = 5;

constexpr kube::Resource kDeployments{"apps", "v1", "deployments"};
constexpr kube::Resource kPolicies{"kgpu.dev", "v1alpha1", "gpupolicies"};

// What controllers of Kubernetes or OpenShift put into every namespace.
constexpr std::array<std::string_view, 9> kUsualNames = {"ConfigMap/kube-root-ca.crt",
                                                         "ConfigMap/openshift-service-ca.crt",
                                                         "ServiceAccount/default",
                                                         "ServiceAccount/builder",
                                                         "ServiceAccount/deployer",
                                                         "RoleBinding/system:deployers",
                                                         "RoleBinding/system:image-builders",
                                                         "RoleBinding/system:image-pullers",
                                                         "ConfigMap/istio-ca-root-cert"};
// Kubernetes makes and removes them. Not even listed: Endpoints bring a warning that they are
// deprecated.
constexpr std::array<std::string_view, 4> kPassingKinds = {"Event", "Endpoints", "EndpointSlice",
                                                           "PodMetrics"};

bool IsLookedAt(const kube::Kind& kind) {
  return kind.is_listed && std::ranges::find(kPassingKinds, kind.kind) == kPassingKinds.end();
}

bool IsOfGateway(const json::value& object) {
  return kube::TextField(object, {"metadata", "labels", kManagedBy}) == kGatewayManager;
}

// Whether the object goes with one of ours or of Kubernetes' controllers. A node stays, and with it
// the pods that our controller runs there.
bool GoesWithItsOwner(const json::value& object) {
  const json::value* owners = kube::FindField(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array() || owners->get_array().empty()) {
    return false;
  }
  return !IsOurs(object) || !std::ranges::all_of(owners->get_array(), [](const json::value& owner) {
    return kube::TextField(owner, {"kind"}) == "Node" &&
           kube::TextField(owner, {"apiVersion"}) == "v1";
  });
}

bool IsUsual(const std::string& kind, const json::value& object) {
  const std::string name = fmt::format("{}/{}", kind, kube::NameOf(object));
  return std::ranges::find(kUsualNames, name) != kUsualNames.end() || GoesWithItsOwner(object) ||
         // Of a service account, which takes it along.
         !kube::TextField(object, {"metadata", "annotations", "kubernetes.io/service-account.name"})
              .empty();
}

// Made by our programs while they ran.
bool IsOwn(const std::string& kind, const json::value& object) {
  const bool is_lease = kind == "Lease" && kube::NameOf(object).starts_with("kgpu-");
  const bool is_feature =
      !kube::TextField(object, {"metadata", "annotations", node::kDigestAnnotation}).empty();
  return IsOurs(object) || is_lease || is_feature || IsOfGateway(object);
}

bool RequestsGpus(const json::value& pod) {
  const json::value* containers = kube::FindField(pod, {"spec", "containers"});
  for (const json::value& container :
       containers != nullptr && containers->is_array() ? containers->get_array() : json::array()) {
    const json::value* limits = kube::FindField(container, {"resources", "limits"});
    for (const auto& [name, quantity] :
         limits != nullptr && limits->is_object() ? limits->get_object() : json::object()) {
      const std::string_view resource(name);
      if (resource.starts_with("nvidia.com/") || resource.starts_with("kgpu.dev/")) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string SomeOf(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMaxNamed);
  const std::string text = Join(
      std::vector<std::string>(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown)), ", ");
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

StatusOr<std::vector<kube::ObjectRef>> FindLabelled(kube::BlockingClient& client,
                                                    kube::Kinds& kinds) {
  ASSIGN_OR_RETURN(const std::vector<kube::Kind> all, kinds.All());
  std::vector<kube::ObjectRef> refs;
  for (const kube::Kind& kind : all) {
    if (!IsLookedAt(kind)) {
      continue;
    }
    const auto objects = kube::ListAll(
        client, kind.resource().Collection(),
        fmt::format("{}=kgpu,{} in ({},{})", kPartOf, kManagedBy, kManager, kControllerManager));
    // Gone with its definition meanwhile; or nothing that we may have made.
    if (objects.status().code() == StatusCode::kNotFound ||
        objects.status().code() == StatusCode::kPermissionDenied) {
      continue;
    }
    RETURN_IF_ERROR(objects.status());
    for (const json::value& object : *objects) {
      if (!GoesWithItsOwner(object)) {
        refs.push_back({kind.ApiVersion(), kind.kind, std::string(kube::NamespaceOf(object)),
                        std::string(kube::NameOf(object))});
      }
    }
  }
  return refs;
}

StatusOr<SpaceContents> LookIntoSpace(kube::BlockingClient& client, kube::Kinds& kinds,
                                      const std::string& space) {
  ASSIGN_OR_RETURN(const std::vector<kube::Kind> all, kinds.All());
  SpaceContents contents;
  for (const kube::Kind& kind : all) {
    if (!IsLookedAt(kind) || !kind.is_namespaced) {
      continue;
    }
    const auto objects = kube::ListAll(client, kind.resource().Collection(space));
    if (objects.status().code() == StatusCode::kNotFound) {
      continue;
    }
    RETURN_IF_ERROR(objects.status());
    for (const json::value& object : *objects) {
      const bool goes = kube::FindField(object, {"metadata", "deletionTimestamp"}) != nullptr;
      const bool is_record = kind.kind == "ConfigMap" && kube::NameOf(object) == kRecordName;
      if (goes || is_record || IsUsual(kind.kind, object)) {
        continue;
      }
      (IsOwn(kind.kind, object) ? contents.own : contents.foreign)
          .push_back({kind.ApiVersion(), kind.kind, space, std::string(kube::NameOf(object))});
    }
  }
  return contents;
}

StatusOr<std::vector<std::string>> FindPolicies(kube::BlockingClient& client) {
  const auto objects = kube::ListAll(client, kPolicies.Collection());
  if (objects.status().code() == StatusCode::kNotFound) {
    return std::vector<std::string>();
  }
  RETURN_IF_ERROR(objects.status());
  std::vector<std::string> names;
  for (const json::value& object : *objects) {
    names.emplace_back(kube::NameOf(object));
  }
  return names;
}

StatusOr<std::vector<kube::ObjectRef>> FindNodePods(kube::BlockingClient& client,
                                                    const std::string& space) {
  ASSIGN_OR_RETURN(
      const std::vector<json::value> pods,
      kube::ListAll(client, kube::kPods.Collection(space),
                    fmt::format("{}=kgpu,{}={}", kPartOf, kManagedBy, kControllerManager)));
  std::vector<kube::ObjectRef> refs;
  for (const json::value& pod : pods) {
    if (!GoesWithItsOwner(pod)) {
      refs.push_back({"v1", "Pod", space, std::string(kube::NameOf(pod))});
    }
  }
  return refs;
}

StatusOr<std::vector<kube::ObjectRef>> FindFunctions(kube::BlockingClient& client) {
  ASSIGN_OR_RETURN(
      const std::vector<json::value> deployments,
      kube::ListAll(client, kDeployments.Collection(),
                    fmt::format("{}={},kgpu.dev/function", kManagedBy, kGatewayManager)));
  std::vector<kube::ObjectRef> refs;
  refs.reserve(deployments.size());
  for (const json::value& deployment : deployments) {
    refs.push_back({"apps/v1", "Deployment", std::string(kube::NamespaceOf(deployment)),
                    std::string(kube::NameOf(deployment))});
  }
  return refs;
}

StatusOr<std::vector<std::string>> FindGpuPods(kube::BlockingClient& client,
                                               const std::set<std::string>& nodes) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(
      kube::ForEachObject(client, kube::kPods.Collection(), "", [&](const json::value& pod) {
        const std::string_view phase = kube::TextField(pod, {"status", "phase"});
        if (phase != "Succeeded" && phase != "Failed" && !IsOurs(pod) && !IsOfGateway(pod) &&
            RequestsGpus(pod) &&
            nodes.contains(std::string(kube::TextField(pod, {"spec", "nodeName"})))) {
          names.push_back(fmt::format("{}/{}", kube::NamespaceOf(pod), kube::NameOf(pod)));
        }
      }));
  return names;
}

}  // namespace kgpu::install
