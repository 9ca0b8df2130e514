// What must hold before anything is changed: permissions, kinds that the cluster serves, no other
// software for GPUs.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

// One thing that our credentials must allow.
struct Permission {
  std::string verb{};
  std::string group{};
  std::string plural{};
  std::string space{};  // empty: everywhere, or a kind without namespaces
  auto operator<=>(const Permission&) const = default;
};

// "patch daemonsets.apps in kgpu".
std::string TextOf(const Permission& permission);

// What is needed to do `verbs` to each of `refs`. Kinds that are not served yet are left out.
// Errors: those of Send.
StatusOr<std::vector<Permission>> PermissionsFor(kube::Kinds& kinds,
                                                 const std::vector<kube::ObjectRef>& refs,
                                                 const std::vector<std::string>& verbs);

// Asks the server for each. Errors: PermissionDenied naming all that are missing; those of Send.
Status CheckPermissions(kube::BlockingClient& client, const std::vector<Permission>& permissions);

// Whether the cluster serves every kind of `objects`, apart from those that they define. Errors:
// Unimplemented naming kinds and objects; those of Send.
Status CheckKinds(kube::BlockingClient& client, const std::vector<boost::json::value>& objects);

// What an installation of `objects` needs: their kinds, and to get, create and patch each. Errors:
// those of CheckKinds and CheckPermissions.
Status CheckInstall(kube::BlockingClient& client, kube::Kinds& kinds,
                    const std::vector<boost::json::value>& objects);

// Other software for GPUs by its DaemonSets: "NVIDIA's device plugin (DaemonSet
// gpu-operator/nvidia-device-plugin-daemonset)". Errors: those of Send.
StatusOr<std::vector<std::string>> FindOtherSoftware(kube::BlockingClient& client);

}  // namespace kgpu::install
