#include "src/agent/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::agent {
namespace {

constexpr std::array<std::string_view, 2> kClusterVariables = {"KUBECONFIG=",
                                                               "KUBERNETES_SERVICE_HOST="};

bool NamesACluster(std::string_view variable) {
  return std::ranges::any_of(kClusterVariables, [variable](std::string_view name) {
    return variable.starts_with(name) && variable.size() > name.size();
  });
}

}  // namespace

StatusOr<AgentOptions> BelowHostRoot(AgentOptions options, const sys::Root& host) {
  const AgentOptions usual;
  for (std::string AgentOptions::* folder :
       {&AgentOptions::kubelet_dir, &AgentOptions::run_dir, &AgentOptions::state_dir}) {
    const bool is_named =
        options.*folder != usual.*folder ||
        std::ranges::find(options.named_folders, folder) != options.named_folders.end();
    if (!is_named && host.path() != "/") {
      ASSIGN_OR_RETURN(options.*folder, host.FollowLinks(usual.*folder));
    }
  }
  if (host.path() != "/" && options.node_name.empty() &&
      std::erase_if(options.environment, &NamesACluster) > 0) {
    KGPU_LOG(kWarning, "cluster not used",
             {"reason", "the cluster's credentials are those of this machine, not of --host-root"},
             {"fix", "name the node of that host: --node NAME or NODE_NAME"});
  }
  return options;
}

}  // namespace kgpu::agent
