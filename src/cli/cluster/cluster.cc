#include <CLI/CLI.hpp>

#include "src/cli/base/commands.h"

namespace kgpu::cli {

void AddClusterCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup("cluster", "Install kgpu on a Kubernetes cluster");
  group.footer("  kgpu cluster render | kubectl apply -f -");
  AddClusterInstallCommands(registrar, group);
  AddClusterStatusCommand(registrar, group);
  AddClusterGpusCommand(registrar, group);
  AddClusterUninstallCommand(registrar, group);
  AddClusterAdoptCommand(registrar, group);
  AddClusterRenderCommand(registrar, group);
  AddClusterValuesCommand(registrar, group);
  AddControllerCommand(registrar, group);
}

}  // namespace kgpu::cli
