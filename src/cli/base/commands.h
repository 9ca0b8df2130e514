// The commands, a file of each name: every function adds its command and those below it. program.cc
// lists the outermost ones.
#pragma once

#include "src/cli/base/command_registrar.h"

namespace kgpu::cli {

void AddAgentCommand(CommandRegistrar& registrar);
void AddCdiCommands(CommandRegistrar& registrar);
void AddClusterCommands(CommandRegistrar& registrar);
void AddCollectCommand(CommandRegistrar& registrar);
void AddCompletionCommand(CommandRegistrar& registrar);
void AddConfigCommands(CommandRegistrar& registrar);
void AddDevicesCommand(CommandRegistrar& registrar);
void AddDoctorCommand(CommandRegistrar& registrar);
void AddDriverCommands(CommandRegistrar& registrar);
void AddExplainCommands(CommandRegistrar& registrar);
void AddFnCommands(CommandRegistrar& registrar);
void AddHealthCommands(CommandRegistrar& registrar);
void AddHelpCommand(CommandRegistrar& registrar);
void AddLabelsCommand(CommandRegistrar& registrar);
void AddManCommand(CommandRegistrar& registrar);
void AddMetricsCommand(CommandRegistrar& registrar);
void AddMigCommands(CommandRegistrar& registrar);
void AddNodeCommands(CommandRegistrar& registrar);
void AddRuntimeCommands(CommandRegistrar& registrar);
void AddRunCommands(CommandRegistrar& registrar);
void AddSimCommand(CommandRegistrar& registrar);
void AddStatusCommand(CommandRegistrar& registrar);
void AddTopCommand(CommandRegistrar& registrar);
void AddUsageCommand(CommandRegistrar& registrar);
void AddValidateCommand(CommandRegistrar& registrar);
void AddVersionCommand(CommandRegistrar& registrar);

// `kgpu cluster install` and `upgrade`; `status`; `uninstall`.
void AddClusterInstallCommands(CommandRegistrar& registrar, CLI::App& group);
void AddClusterStatusCommand(CommandRegistrar& registrar, CLI::App& group);
void AddClusterUninstallCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu cluster gpus`, which counts the GPUs of a cluster.
void AddClusterGpusCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu cluster render`, which prints what is installed on a cluster, and `kgpu cluster values`.
void AddClusterRenderCommand(CommandRegistrar& registrar, CLI::App& group);
void AddClusterValuesCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu cluster adopt`, which takes nodes over from other software, and hands them back.
void AddClusterAdoptCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu cluster controller`, `kgpu doctor require` and `kgpu fn gateway`; they were at the top
// once.
void AddControllerCommand(CommandRegistrar& registrar, CLI::App& parent);
void AddRequireCommand(CommandRegistrar& registrar, CLI::App& parent);
void AddGatewayCommand(CommandRegistrar& registrar, CLI::App& parent);
// `kgpu config live`, which asks the agent, or the cluster about every node.
void AddConfigShowCommand(CommandRegistrar& registrar, CLI::App& group);
// `kgpu doctor image`, which asks whether the CUDA of an image runs on a host.
void AddDoctorImageCommand(CommandRegistrar& registrar, CLI::App& doctor);
// `kgpu doctor manifest`, for manifests of the time before CDI and DRA.
void AddDoctorManifestCommand(CommandRegistrar& registrar, CLI::App& doctor);
// `kgpu driver install`, `remove`, `rollback` and `verify`.
void AddDriverInstallCommands(CLI::App& group, CommandRegistrar& registrar);
void AddDriverVerifyCommand(CLI::App& group, CommandRegistrar& registrar);
// `kgpu mig apply` and `rollback`.
void AddMigApplyCommands(CommandRegistrar& registrar, CLI::App& group);
// `kgpu run list`, `logs` and `stop`.
void AddRunManageCommands(CommandRegistrar& registrar, CLI::App& group);
// `kgpu node up` and `down`, which make a bare host a GPU node, and take that back.
void AddNodeUpCommands(CommandRegistrar& registrar, CLI::App& group);

}  // namespace kgpu::cli
