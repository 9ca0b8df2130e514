// Removes what agents have left on hosts: a pod on each node runs `kgpu node clear --host-files`,
// with the image of the agent that was there.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

// The pod that clears the host `node`, made from the agent's DaemonSet. Pure. Errors:
// InvalidArgument (no DaemonSet with a container).
StatusOr<boost::json::object> ClearingPod(const boost::json::value& daemon_set,
                                          const std::string& node);

struct ClearHostsOptions {
  std::chrono::milliseconds time{120'000};  // per batch of nodes
  size_t at_once = 50;
  std::function<void(const std::string&)> on_progress{};
};

struct ClearedHost {
  std::string node{};
  Status status{};  // why files may be left, with the fix
};

// Runs the pods and removes them. Errors: those of ClearingPod.
StatusOr<std::vector<ClearedHost>> ClearHosts(kube::BlockingClient& client,
                                              const boost::json::value& daemon_set,
                                              const std::vector<std::string>& nodes,
                                              const ClearHostsOptions& options);

}  // namespace kgpu::install
