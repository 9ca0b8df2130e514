// The commands of `kgpu fn`, a file of each name: every function adds its command to the group.
// fn.cc lists them.
#pragma once

#include "src/cli/base/command_registrar.h"

namespace kgpu::cli {

void AddFnBuildCommand(CommandRegistrar& registrar, CLI::App& group);
void AddFnInitCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn check` and `schema`.
void AddFnCheckCommands(CommandRegistrar& registrar, CLI::App& group);
void AddFnRunCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn runtime list`.
void AddFnRuntimeCommands(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn up`, `down` and `status`.
void AddFnUpCommands(CommandRegistrar& registrar, CLI::App& group);
void AddFnServeCommand(CommandRegistrar& registrar, CLI::App& group);
void AddFnDeployCommand(CommandRegistrar& registrar, CLI::App& group);
void AddFnScaleCommand(CommandRegistrar& registrar, CLI::App& group);
void AddFnDeleteCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn list` and `info`.
void AddFnListCommands(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn usage` and `metrics`.
void AddFnUsageCommands(CommandRegistrar& registrar, CLI::App& group);
// `kgpu fn queue list`, `retry` and `purge`.
void AddFnQueueCommands(CommandRegistrar& registrar, CLI::App& group);
void AddFnCallCommand(CommandRegistrar& registrar, CLI::App& group);
void AddFnLogsCommand(CommandRegistrar& registrar, CLI::App& group);

}  // namespace kgpu::cli
