// Takes an installation back: workloads, traces on nodes and hosts, objects, definitions. What is
// somebody else's stays and is named.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

struct UninstallRequest {
  std::string space = "kgpu";
  bool is_dry_run = false;
  bool deletes_policies = false;            // GpuPolicies go with their definition
  bool keeps_policies = false;              // they stay, and so does the definition
  bool deletes_functions = false;           // those that are deployed go too
  bool keeps_hosts = false;                 // no pods that clear the hosts' files
  bool forces = false;                      // although pods use GPUs
  bool hands_back = false;                  // although nodes are taken over from others
  std::chrono::milliseconds time{120'000};  // for each object, and each batch of hosts
  std::function<void(const std::string&)> on_progress{};
};

struct UninstallReport {
  std::vector<std::string> removed{};  // "DaemonSet kgpu/kgpu-agent", "node n1: label - …"
  std::vector<std::string> stays{};    // "Namespace kgpu: holds ConfigMap kgpu/mine"
};

// Can be ended at any request: the same call later continues. `report` says what was done, in a dry
// run what would be, also after an error. Errors: NotFound (nothing is installed);
// FailedPrecondition, before anything is changed (policies, functions or pods that use GPUs exist),
// or at the end (a host's files could not be cleared: named, with the command); those of Send.
Status Uninstall(kube::BlockingClient& client, kube::Kinds& kinds, const UninstallRequest& request,
                 UninstallReport& report);

}  // namespace kgpu::install
