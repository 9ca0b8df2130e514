// Starts containers for the kubelet. Containers outlive the kubelet.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

struct ContainerConfig {
  std::string id;  // unique over all runs
  std::string pod;
  std::string name_space;
  std::string pod_uid;
  std::string container;
  std::vector<std::string> command;
  std::vector<std::string> env;  // of the pod's spec
  ContainerOptions options;      // of the device plugins
  std::optional<int> exits_with;
};

struct RunState {
  bool is_running = false;
  int exit_code = 0;  // 128 + signal for a killed one
};

// Lives on the loop's thread.
class ContainerRuntime {
 public:
  using ExitHandler = std::function<void(const std::string& id, int exit_code)>;

  virtual ~ContainerRuntime() = default;

  // Called when a container ends, always from the loop; null for nobody. If nobody was notified,
  // Find still shows the end.
  virtual void SetExitHandler(ExitHandler handler) = 0;
  // `started` runs on the loop, once.
  virtual void Start(const ContainerConfig& config, std::function<void(const Status&)> started) = 0;
  // SIGTERM, and SIGKILL after `grace`. The end is reported like any other.
  virtual void Stop(const std::string& id, std::chrono::nanoseconds grace) = 0;
  // Nothing for a container that the runtime does not know (any more).
  virtual std::optional<RunState> Find(const std::string& id) const = 0;
  // Every container it knows.
  virtual std::vector<std::string> List() const = 0;
  // Forgets a container that has ended; kills a running one first.
  virtual void Remove(const std::string& id) = 0;
};

}  // namespace kgpu::kubelet
