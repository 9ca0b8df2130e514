#include "src/cli/fn/fn.h"

#include <CLI/CLI.hpp>

#include "src/cli/base/commands.h"

namespace kgpu::cli {

void AddFnCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup("fn", "Build and run functions that use GPUs");
  group.alias("function");
  group.footer(
      "  kgpu fn init hello -r python3 --gpus 1\n"
      "  kgpu fn build -f hello/config.yaml\n"
      "  kgpu fn up\n"
      "  kgpu fn deploy -f hello/config.yaml\n"
      "  echo hi | kgpu fn call hello");
  AddFnInitCommand(registrar, group);
  AddFnBuildCommand(registrar, group);
  AddFnRunCommand(registrar, group);
  AddFnUpCommands(registrar, group);
  AddFnDeployCommand(registrar, group);
  AddFnCallCommand(registrar, group);
  AddFnQueueCommands(registrar, group);
  AddFnListCommands(registrar, group);
  AddFnLogsCommand(registrar, group);
  AddFnScaleCommand(registrar, group);
  AddFnDeleteCommand(registrar, group);
  AddFnUsageCommands(registrar, group);
  AddGatewayCommand(registrar, group);
  AddFnServeCommand(registrar, group);
  AddFnCheckCommands(registrar, group);
  AddFnRuntimeCommands(registrar, group);
}

}  // namespace kgpu::cli
