// The node agent: creates the parts and connects them. Inputs are inventory, configuration and
// runtime; outputs are views for the kubelet, CDI specs and the status page.
#pragma once

#include <functional>
#include <memory>

#include "src/agent/options.h"
#include "src/agent/state.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

// Lives on the loop's thread, like all its parts. Kubelet, driver, configuration and runtime may
// appear in any order; it waits for none of them.
class Agent {
 public:
  // `loop` and `root` must outlive the agent. Errors: AlreadyExists (another agent runs), NotFound,
  // PermissionDenied (the run folder cannot be created).
  static StatusOr<std::unique_ptr<Agent>> Start(EventLoop& loop, const host::DriverRoot& root,
                                                const AgentOptions& options);
  // Ends streams, removes the agent's sockets, kills the probe. Pods and CDI specs stay.
  virtual ~Agent() = default;

  // Reads the configuration again (SIGHUP).
  virtual void Reload() = 0;
  virtual AgentState state() const = 0;
};

}  // namespace kgpu::agent
