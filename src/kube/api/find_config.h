// Where credentials come from: the kubeconfig that was named, $KUBECONFIG, ~/.kube/config, or the
// pod we run in; the first that exists.
#pragma once

#include <string>
#include <vector>

#include "src/kube/api/kubeconfig.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::kube {

struct ConfigSources {
  std::string kubeconfig{};  // --kubeconfig: must exist; relative to the working folder
  std::string context{};     // --context
  std::vector<std::string> environment{};  // "NAME=value": KUBECONFIG, HOME, KUBERNETES_SERVICE_…
  std::string working_folder = "/";
  // A daemon acts for itself, not for the person whose $HOME it has; plugins still get HOME.
  bool ignores_home_kubeconfig = false;
};

struct FoundConfig {
  std::string source{};  // for people: the files' paths, or "in-cluster"
  Selected selected{};
};

// `root` is our own file system, not the host's. Errors: as ParseKubeconfig and SelectContext;
// NotFound (none exists; lists the places searched).
StatusOr<FoundConfig> FindConfig(const sys::Root& root, const ConfigSources& sources);

}  // namespace kgpu::kube
