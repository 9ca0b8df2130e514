// Runs kubectl as if on a fresh machine: its home, configuration and caches are in one folder.
#pragma once

#include <string>
#include <vector>

namespace kgpu::e2e {

// The variable KGPU_KUBECTL names one to use instead of that in PATH.
bool HasKubectl();
// Its command line with `folder` as its home; the configuration is `folder`/kubeconfig.
std::vector<std::string> KubectlCommand(const std::string& folder,
                                        const std::vector<std::string>& arguments);

}  // namespace kgpu::e2e
