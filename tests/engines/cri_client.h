// The kubelet's side of the container runtime interface: one pod with one container at a time.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"
#include "tests/e2e/program.h"

namespace kgpu::engines {

// Not thread-safe; every call waits for its answer.
class CriClient {
 public:
  struct Container {
    std::string image = {};
    std::string runtime_handler = {};             // empty: the runtime's default
    kubelet::ContainerOptions options = {};       // what device plugins answered
    std::map<std::string, std::string> env = {};  // of the pod's spec
    bool is_root_read_only = false;
  };

  // `cgroup_parent`: of the pods. Errors: those of connecting.
  static StatusOr<std::unique_ptr<CriClient>> Connect(const std::string& socket,
                                                      const std::string& cgroup_parent);
  virtual ~CriClient() = default;

  // Starts a pod with the container and runs `command` in it; removes the pod afterwards. Errors:
  // the runtime's, with the step that it refused.
  virtual StatusOr<e2e::Result> Run(const Container& container,
                                    const std::vector<std::string>& command) = 0;
};

}  // namespace kgpu::engines
