// The kubelet's side of the container runtime interface: one pod with one container at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"
#include "tests/e2e/program.h"

namespace kgpu::engines {

// Not thread-safe; every call waits for its answer.
// The kubelet's translation of hostPID and a container's securityContext.
struct Security {
  bool is_privileged = false;
  std::optional<int64_t> user = {};
  bool is_root_read_only = false;
  bool has_host_pids = false;
  bool has_no_new_privileges = false;
  std::vector<std::string> added_capabilities = {};  // "SYS_ADMIN"
  std::vector<std::string> dropped_capabilities = {};
};

class CriClient {
 public:
  struct Container {
    std::string image = {};
    std::string runtime_handler = {};             // empty: the runtime's default
    kubelet::ContainerOptions options = {};       // what device plugins answered
    std::map<std::string, std::string> env = {};  // of the pod's spec
    Security security = {};
  };

  // `cgroup_parent`: of the pods. Errors: those of connecting.
  static StatusOr<std::unique_ptr<CriClient>> Connect(const std::string& socket,
                                                      const std::string& cgroup_parent);
  virtual ~CriClient() = default;

  // Starts a pod with the container and runs `command` in it; removes the pod afterwards. Errors:
  // the runtime's, with the step that it refused.
  virtual StatusOr<e2e::Result> Run(const Container& container,
                                    const std::vector<std::string>& command) = 0;

  // Starts a pod whose container runs the image's own program with `arguments`, and leaves it
  // running. Its output goes to "<log_folder>/agent.log". Returns the pod's id.
  virtual StatusOr<std::string> Start(const Container& container,
                                      const std::vector<std::string>& arguments,
                                      const std::string& log_folder) = 0;
  // Ends and removes a pod.
  virtual Status Remove(const std::string& pod_id) = 0;
};

}  // namespace kgpu::engines
