#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/runtime/runtime_configure.h"
#include "src/cli/runtime/runtime_host.h"
#include "src/cli/runtime/runtime_view.h"
#include "src/container/engine/check.h"
#include "src/container/engine/find.h"
#include "src/container/engine/packages.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct RuntimeInstallOptions {
  RuntimeOptions common;
  bool is_dry_run = false;
};

StatusOr<std::vector<EngineStatus>> LookAtAll(RuntimeHost& host) {
  const Progress progress("asking the container engines");
  ASSIGN_OR_RETURN(const std::vector<engine::Engine> engines, host.FindEngines());
  ASSIGN_OR_RETURN(const engine::State state, engine::ReadState(host.root()));
  std::vector<EngineStatus> all;
  for (const engine::Engine& engine : engines) {
    EngineStatus status;
    status.engine = engine;
    if (const auto record = state.find(engine.Id()); record != state.end()) {
      status.record = record->second;
    }
    status.live = AskEngine(host, engine);
    all.push_back(std::move(status));
  }
  return all;
}

StatusOr<ExitCode> RunRuntimeStatus(const RuntimeOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options));
  ASSIGN_OR_RETURN(const std::vector<EngineStatus> all, LookAtAll(*host));
  return OkOr(PrintAs(format, EnginesTable(all), EnginesJson(all)));
}

StatusOr<ExitCode> RunRuntimeCheck(const RuntimeOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options));
  ASSIGN_OR_RETURN(const std::vector<EngineStatus> all, LookAtAll(*host));
  NamedFindings checked;
  for (const EngineStatus& status : all) {
    engine::CheckInput input;
    input.engine = &status.engine;
    input.record = status.record ? &*status.record : nullptr;
    input.live = status.live;
    checked.emplace_back(status.engine.Name(),
                         engine::CheckEngine(host->root(), host->runner(), input));
  }
  if (std::vector<report::Finding> of_shim = engine::CheckShim(host->root()); !of_shim.empty()) {
    checked.emplace_back(engine::kShimId, std::move(of_shim));
  }
  return PrintNamedFindings(checked, "everything is ok", format);
}

// The engine of --engine, else the one that all commands suggest for this host.
StatusOr<engine::Kind> KindToInstall(const RuntimeHost& host, const std::string& given) {
  if (!engine::DistributionOf(given).empty()) {
    return InvalidArgument("--engine: {} includes its own containerd: use its installer", given);
  }
  return host.is_auto() ? engine::EngineToInstall(host.root()) : engine::ParseKind(given);
}

StatusOr<ExitCode> RunRuntimeInstall(const RuntimeInstallOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options.common));
  if (const auto found = host->FindEngines(); found.ok()) {
    return OkOr(
        PrintOut(fmt::format("nothing to do: {} {} is installed: {}\n", found->front().Name(),
                             found->front().version_text, found->front().program)));
  }
  ASSIGN_OR_RETURN(const engine::Kind kind, KindToInstall(*host, options.common.engine));
  ASSIGN_OR_RETURN(const engine::InstallPlan plan, engine::PlanInstall(host->root(), kind));
  const Status possible = engine::CheckInstall(plan);
  if (!options.is_dry_run) {
    RETURN_IF_ERROR(possible);
  }
  RETURN_IF_ERROR(
      PrintOut(fmt::format("# install {} from the packages of {}\n"
                           "{}",
                           engine::ToString(kind), plan.distribution, engine::Print(plan))));
  if (options.is_dry_run) {
    if (!possible.ok()) {
      PrintNote(fmt::format("this plan cannot run here: {}", Message(possible)));
    }
    return ExitCode::kOk;
  }
  RETURN_IF_ERROR(engine::Install(plan, host->root(), host->runner()));
  return OkOr(PrintOut(fmt::format("installed; next run: kgpu runtime configure --engine {}\n",
                                   engine::ToString(kind))));
}

void AddRuntimeFlags(CLI::App& command, RuntimeOptions& options) {
  AddValue(command, "-e,--engine", options.engine,
           "auto|docker|containerd|crio|podman|k3s|rke2|k0s|microk8s",
           "Container engine; auto selects all that are installed");
  AddHostRootOption(command, options.host_root);
  AddValue(
      command, "--config", options.config, "FILE",
      "The engine's configuration file on the host (default: the one it reads, or the one that its "
      "distribution makes that of)");
}

void AddRestart(CLI::App& command, RuntimeOptions& options, bool& restart) {
  CLI::Option* flag = command.add_flag(
      "--restart", restart,
      "Apply the change: SIGHUP if that is enough, else a restart; a failure is undone");
  AddValue(command, "--restart-with", options.restart_with, "COMMAND",
           "Command that restarts the engine (default: systemctl, service)")
      ->needs(flag);
}

void AddRuntimeStatus(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<RuntimeOptions>(
      group, "status", "Show the container engines of this host and how they provide GPUs",
      &RunRuntimeStatus);
  command.footer(
      "  kgpu runtime status\n"
      "  kgpu runtime status --engine containerd --output json");
  AddRuntimeFlags(command, options);
  AddOutputOption(command, options.output);
}

void AddRuntimeCheck(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<RuntimeOptions>(
      group, "check", "Find out why containers of an engine would get no GPU, and how to fix it",
      &RunRuntimeCheck);
  command.footer("Exits 7 when there is an error.\n\n  kgpu runtime check --engine docker");
  AddRuntimeFlags(command, options);
  AddOutputOption(command, options.output);
}

void AddRegistryFlags(CLI::App& command, ConfigureOptions& options) {
  const std::string group = "Image pulls";
  AddValue(command, "--insecure-registry", options.insecure_registries, "HOST",
           "A registry without trusted TLS, HOST[:PORT]; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  AddValue(command, "--registry-mirror", options.registry_mirrors, "URL",
           "A mirror of docker.io, a URL; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  AddValue(command, "--http-proxy", options.http_proxy, "URL",
           "Proxy for the engine's systemd unit")
      ->group(group);
  AddValue(command, "--https-proxy", options.https_proxy, "URL",
           "Proxy for the engine's systemd unit")
      ->group(group);
  AddValue(command, "--no-proxy", options.no_proxy, "LIST", "Hosts and networks that need no proxy")
      ->group(group);
}

void AddWayFlags(CLI::App& command, ConfigureOptions& options) {
  command
      .add_flag("--cdi{yes}", options.cdi,
                "Enable CDI in the engine, or disable it with =no (default: enabled if supported)")
      ->type_name("yes|no");
  command
      .add_flag("--runtime{yes}", options.runtime,
                "Register kgpu-runtime with the engine (default: only if it cannot use CDI)")
      ->type_name("yes|no");
  command.add_flag("--set-default", options.set_default,
                   "Make it the default runtime of all containers, which docker run --gpus needs");
  command.add_flag("--adopt", options.adopt,
                   "Replace NVIDIA's or another runtime of that name with kgpu-runtime");
  AddValue(command, "--runtime-name", options.runtime_name, "NAME", "Name of the runtime");
  AddValue(command, "--runtime-path", options.runtime_path, "FILE",
           "Path of kgpu-runtime on the host; copied there if missing (default: "
           "/usr/local/bin/kgpu-runtime)");
  AddValue(command, "--accept-env", options.accept_env, "yes|no",
           "yes or no: whether NVIDIA_VISIBLE_DEVICES, which images can also set, gives a "
           "container GPUs (default: the setting of an adopted NVIDIA runtime, else asked on a "
           "terminal, else no)");
}

void AddConfigure(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ConfigureOptions>(
      group, "configure", "Configure engines to give containers GPUs",
      [](const ConfigureOptions& given) { return ForRoot(RunConfigure(given)); });
  command.footer(
      "Makes the smallest change: CDI if the engine supports it (often nothing changes), else an\n"
      "additional runtime \"nvidia\". Keeps every other byte of the engine's files. Changes are\n"
      "recorded; kgpu runtime revert undoes them.\n"
      "\n"
      "  kgpu runtime configure --dry-run                     show the changes as a diff\n"
      "  kgpu runtime configure --restart                     all engines, and restart them\n"
      "  kgpu runtime configure -e docker --set-default --restart      for docker run --gpus all\n"
      "  kgpu runtime configure -e containerd --insecure-registry reg.example:5000\n"
      "  kgpu runtime configure --print kubespray             for nodes set up by kubespray");
  AddRuntimeFlags(command, options.common);
  AddOutputOption(command, options.common.output);
  CLI::Option* dry_run = command.add_flag("--dry-run", options.is_dry_run,
                                          "Print diffs and steps without changing anything");
  AddRestart(command, options.common, options.restart);
  AddWayFlags(command, options);
  AddRegistryFlags(command, options);
  CLI::Option* print = AddValue(command, "--print", options.print, "minikube|kubespray",
                                "Print the settings for this tool and change nothing");
  print->excludes(dry_run);
  // What no tool takes; the rest is in one recipe or the other.
  for (const char* unused : {"--engine", "--config", "--restart", "--adopt", "--accept-env",
                             "--http-proxy", "--https-proxy", "--no-proxy"}) {
    print->excludes(unused);
  }
}

void AddRevert(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<RevertOptions>(
      group, "revert", "Undo what kgpu runtime configure did, and nothing else",
      [](const RevertOptions& given) { return ForRoot(RunRevert(given)); });
  command.footer(
      "Restores files that nobody has edited since; removes only kgpu's keys from the others.\n"
      "\n"
      "  kgpu runtime revert --dry-run\n"
      "  kgpu runtime revert --engine docker --restart");
  AddRuntimeFlags(command, options.common);
  AddOutputOption(command, options.common.output);
  command.add_flag("--dry-run", options.is_dry_run,
                   "Print diffs and steps without changing anything");
  AddRestart(command, options.common, options.restart);
}

void AddInstall(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<RuntimeInstallOptions>(
      group, "install", "Install an engine from the distribution's packages", &RunRuntimeInstall);
  command.footer(
      "Without --engine: containerd, else CRI-O, podman or docker, the first that the "
      "distribution\n"
      "has; on a node of Kubernetes one that runs pods. kgpu doctor suggests the same.\n"
      "\n"
      "  kgpu runtime install --dry-run\n"
      "  kgpu runtime install --engine podman");
  AddRuntimeFlags(command, options.common);
  command.add_flag("--dry-run", options.is_dry_run, "Print the commands without running them");
}

}  // namespace

void AddRuntimeCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup(
      "runtime", "Configure container engines (docker, containerd, CRI-O, podman) for GPUs");
  group.footer(
      "  kgpu runtime status\n"
      "  kgpu runtime configure --dry-run\n"
      "  kgpu runtime check");
  AddRuntimeStatus(registrar, group);
  AddConfigure(registrar, group);
  AddRuntimeCheck(registrar, group);
  AddRevert(registrar, group);
  AddInstall(registrar, group);
}

}  // namespace kgpu::cli
