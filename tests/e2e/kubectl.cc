#include "tests/e2e/kubectl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace kgpu::e2e {
namespace {

std::string KubectlPath() {
  // Tests have one thread.
  const char* chosen = getenv("KGPU_KUBECTL");  // NOLINT(concurrency-mt-unsafe): see above
  return chosen != nullptr ? chosen : "/usr/bin/kubectl";
}

}  // namespace

bool HasKubectl() {
  return access(KubectlPath().c_str(), X_OK) == 0;
}

std::vector<std::string> KubectlCommand(const std::string& folder,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"/usr/bin/env",
                                   "-i",
                                   "PATH=/usr/bin:/bin",
                                   fmt::format("HOME={}", folder),
                                   fmt::format("KUBECONFIG={}/kubeconfig", folder),
                                   KubectlPath()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace kgpu::e2e
