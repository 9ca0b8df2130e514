// The controller of a cluster: whoever holds the lease brings nodes to what the GpuPolicies ask
// for. docs/reference/controller.md explains what it does, and how it stays within the budget.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/cluster/controller/writes.h"
#include "src/kube/api/client.h"
#include "src/kube/api/leader_election.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"

namespace kgpu::controller {

struct ControllerOptions {
  PodSettings pods{};
  std::string identity{};  // unique: the pod's name and something random
  kube::LeaderOptions lease{.name = "kgpu-controller"};  // its space and identity are set from here
};

// Separate rate limits, so that nothing delays the lease, and events nothing else.
struct Clients {
  kube::Client& main;
  kube::Client& lease;
  kube::Client& events;
};

// Lives on the loop's thread.
class Controller {
 public:
  // Runs for leader, and then acts. `on_lost`: another process may act now: exit. All references
  // must outlive the controller; `on_lost` must not destroy it. Errors: InvalidArgument (the
  // lease).
  static StatusOr<std::unique_ptr<Controller>> Start(EventLoop& loop, Clients clients,
                                                     Random& random, ControllerOptions options,
                                                     std::function<void(const Status&)> on_lost);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  bool is_leader() const;
  // Whether it stands by, or leads and knows the whole cluster; else why not.
  bool IsReady(std::string* why) const;
  // The page of /metrics.
  std::string MetricsText() const;
  // Gives the lease back, so that another one takes it at once. `done` is called once.
  void Release(std::function<void()> done);

 private:
  class Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::controller
