// Looks for what an uninstall must know of: our objects by their label, and what is not ours.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

// "a, b, c and 4 more".
std::string SomeOf(const std::vector<std::string>& names);

// Objects of every kind that the cluster serves which carry the labels of an installation, or of
// what its controller makes; not what goes with its owner. Errors of all: those of Send.
StatusOr<std::vector<kube::ObjectRef>> FindLabelled(kube::BlockingClient& client,
                                                    kube::Kinds& kinds);

// What is in a namespace, besides what Kubernetes itself puts there.
struct SpaceContents {
  std::vector<kube::ObjectRef> own{};  // made by our programs while they ran; without the record
  std::vector<kube::ObjectRef> foreign{};
};
StatusOr<SpaceContents> LookIntoSpace(kube::BlockingClient& client, kube::Kinds& kinds,
                                      const std::string& space);

// Names of GpuPolicies; empty if the kind is not served.
StatusOr<std::vector<std::string>> FindPolicies(kube::BlockingClient& client);

// The pods in `space` that the controller runs on nodes, to install a driver or to validate.
StatusOr<std::vector<kube::ObjectRef>> FindNodePods(kube::BlockingClient& client,
                                                    const std::string& space);

// The Deployments that a gateway has made of functions, in every namespace.
StatusOr<std::vector<kube::ObjectRef>> FindFunctions(kube::BlockingClient& client);

// "ns/name" of the running pods on `nodes` that have requested GPUs, without ours and those of
// functions.
StatusOr<std::vector<std::string>> FindGpuPods(kube::BlockingClient& client,
                                               const std::set<std::string>& nodes);

}  // namespace kgpu::install
