#include "src/agent/options.h"

namespace kgpu::agent {

AgentOptions BelowHostRoot(AgentOptions options, const sys::Root& host) {
  const AgentOptions usual;
  for (std::string AgentOptions::* folder :
       {&AgentOptions::kubelet_dir, &AgentOptions::run_dir, &AgentOptions::state_dir}) {
    if (options.*folder == usual.*folder) {
      options.*folder = host.At(usual.*folder);
    }
  }
  return options;
}

}  // namespace kgpu::agent
