#include "src/cli/runtime.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/output.h"
#include "src/cli/runtime_configure.h"
#include "src/cli/runtime_host.h"
#include "src/cli/runtime_view.h"
#include "src/container/engine/find.h"
#include "src/container/engine/packages.h"
#include "src/container/engine/plan.h"
#include "src/container/shim/config.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct RuntimeInstallOptions {
  RuntimeOptions common;
  bool is_dry_run = false;
};

StatusOr<std::vector<EngineStatus>> LookAtAll(RuntimeHost& host) {
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
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable ? EnginesTable(all)
                                                          : Render(EnginesJson(all), format)));
  return ExitCode::kOk;
}

// What keeps kgpu-runtime from starting containers, whatever the engine.
std::vector<engine::Finding> CheckShimConfig(const sys::Root& root) {
  const StatusOr<shim::Config> config = shim::ReadConfig(root);
  if (!config.ok()) {
    return {{fmt::format("{}: no container with it starts", Message(config.status())),
             "mend the file, or remove it and run kgpu runtime configure"}};
  }
  if (!config->cuda_compat.empty() && !root.Exists(config->cuda_compat)) {
    return {{fmt::format("{}: cudaCompat: {} is not there", shim::kConfigPath, config->cuda_compat),
             "install a cuda-compat package there, or make it \"\""}};
  }
  return {};
}

StatusOr<ExitCode> RunRuntimeCheck(const RuntimeOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options));
  ASSIGN_OR_RETURN(const std::vector<EngineStatus> all, LookAtAll(*host));
  EngineFindings findings;
  for (const EngineStatus& status : all) {
    engine::CheckInput input;
    input.engine = &status.engine;
    input.record = status.record ? &*status.record : nullptr;
    input.live = status.live;
    findings.emplace_back(status.engine.Name(),
                          engine::CheckEngine(host->root(), host->runner(), input));
  }
  if (std::vector<engine::Finding> of_shim = CheckShimConfig(host->root()); !of_shim.empty()) {
    findings.emplace_back(engine::kShimId, std::move(of_shim));
  }
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? EngineFindingsText(findings)
                               : Render(EngineFindingsJson(findings), format)));
  const bool is_well =
      std::ranges::all_of(findings, [](const auto& of_engine) { return of_engine.second.empty(); });
  return is_well ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunRuntimeInstall(const RuntimeInstallOptions& options) {
  if (options.common.engine == "auto") {
    return InvalidArgument(
        "--engine: which one is to be installed: docker, containerd, crio or "
        "podman?");
  }
  ASSIGN_OR_RETURN(const engine::Kind kind, engine::ParseKind(options.common.engine));
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options.common));
  if (const auto found = host->FindEngines(); found.ok()) {
    RETURN_IF_ERROR(
        PrintOut(fmt::format("nothing to do: {} {} is here: {}\n", found->front().Name(),
                             found->front().version_text, found->front().program)));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const engine::InstallPlan plan, engine::PlanInstall(host->root(), kind));
  RETURN_IF_ERROR(PrintOut(fmt::format("# {}, by the packages of {}\n{}", engine::ToString(kind),
                                       plan.distribution, engine::Print(plan))));
  if (options.is_dry_run) {
    return ExitCode::kOk;
  }
  RETURN_IF_ERROR(engine::Install(plan, host->root(), host->runner()));
  RETURN_IF_ERROR(PrintOut(
      fmt::format("installed; now: kgpu runtime configure --engine {}\n", engine::ToString(kind))));
  return ExitCode::kOk;
}

void AddRuntimeFlags(CLI::App& verb, RuntimeOptions& options) {
  verb.add_option("-e,--engine", options.engine,
                  "docker, containerd, crio, podman; auto is every one that is here")
      ->type_name("ENGINE")
      ->capture_default_str();
  verb.add_option("--host-root", options.host_root, "Folder where the host's files are seen")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR")
      ->capture_default_str();
  verb.add_option("--config", options.config,
                  "The engine's file, as the host calls it (default: the one it reads)")
      ->type_name("FILE");
}

void AddOutput(CLI::App& verb, RuntimeOptions& options) {
  AddOutputOption(verb, options.output);
}

void AddRestart(CLI::App& verb, RuntimeOptions& options, bool& restart) {
  CLI::Option* flag = verb.add_flag(
      "--restart", restart,
      "Bring it into force: SIGHUP where that is enough, else a restart; what fails is undone");
  verb.add_option("--restart-with", options.restart_with,
                  "The command that restarts the engine (default: systemctl, service)")
      ->type_name("COMMAND")
      ->needs(flag);
}

void AddRuntimeStatus(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<RuntimeOptions>();
  CLI::App* verb = group.add_subcommand(
      "status", "Show the container engines of this host and how they get GPUs");
  AddRuntimeFlags(*verb, *options);
  AddOutput(*verb, *options);
  verbs.OnRun(*verb, [options] { return RunRuntimeStatus(*options); });
}

void AddRuntimeCheck(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<RuntimeOptions>();
  CLI::App* verb = group.add_subcommand(
      "check", "Tell why containers of an engine would get no GPU, and what mends it");
  verb->footer("Exits 7 when there is a finding.\n\n  kgpu runtime check --engine docker");
  AddRuntimeFlags(*verb, *options);
  AddOutput(*verb, *options);
  verbs.OnRun(*verb, [options] { return RunRuntimeCheck(*options); });
}

void AddRegistryFlags(CLI::App& verb, ConfigureOptions& options) {
  const std::string group = "How it pulls images";
  verb.add_option("--insecure-registry", options.insecure_registries,
                  "A registry without TLS that can be trusted, HOST[:PORT]; may be given again")
      ->type_name("HOST")
      ->allow_extra_args(false)
      ->group(group);
  verb.add_option("--registry-mirror", options.registry_mirrors,
                  "A mirror of docker.io, a URL; may be given again")
      ->type_name("URL")
      ->allow_extra_args(false)
      ->group(group);
  verb.add_option("--http-proxy", options.http_proxy, "For the engine's unit of systemd")
      ->type_name("URL")
      ->group(group);
  verb.add_option("--https-proxy", options.https_proxy, "For the engine's unit of systemd")
      ->type_name("URL")
      ->group(group);
  verb.add_option("--no-proxy", options.no_proxy, "Hosts and networks that need no proxy")
      ->type_name("LIST")
      ->group(group);
}

void AddWayFlags(CLI::App& verb, ConfigureOptions& options) {
  verb.add_flag("--cdi{yes}", options.cdi,
                "Let the engine read CDI, or with =no not (default: wherever it can)")
      ->type_name("yes|no");
  verb.add_flag("--runtime{yes}", options.runtime,
                "Name kgpu-runtime to it (default: only where it can not read CDI)")
      ->type_name("yes|no");
  verb.add_flag("--set-default", options.set_default,
                "Make it the runtime of all containers, as docker run --gpus needs");
  verb.add_option("--runtime-name", options.runtime_name, "What the runtime is called")
      ->type_name("NAME")
      ->capture_default_str();
  verb.add_option("--runtime-path", options.runtime_path,
                  "Where kgpu-runtime is, or is to be copied to, on the host "
                  "(default: /usr/local/bin/kgpu-runtime)")
      ->type_name("FILE");
  verb.add_option("--accept-env", options.accept_env,
                  "yes or no: whether NVIDIA_VISIBLE_DEVICES, which an image can set too, gets a "
                  "container GPUs (default: asked on a terminal, else no)")
      ->type_name("yes|no");
}

void AddConfigure(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<ConfigureOptions>();
  CLI::App* verb = group.add_subcommand(
      "configure", "Let an engine's containers have GPUs; every other byte of its files stays");
  verb->footer(
      "The least invasive way is taken: CDI where the engine reads it (often nothing changes), "
      "else\n"
      "a runtime \"nvidia\" beside the others. What was done is recorded; revert takes it back.\n\n"
      "  kgpu runtime configure --dry-run                     what would be done, as a diff\n"
      "  kgpu runtime configure --restart                     every engine here, and bring it into "
      "force\n"
      "  kgpu runtime configure -e docker --set-default --restart      for docker run --gpus all\n"
      "  kgpu runtime configure -e containerd --insecure-registry reg.example:5000\n"
      "  kgpu runtime configure --print kubespray             for nodes that it sets up");
  AddRuntimeFlags(*verb, options->common);
  AddOutput(*verb, options->common);
  CLI::Option* dry_run =
      verb->add_flag("-n,--dry-run", options->is_dry_run, "Print diffs and steps, change nothing");
  AddRestart(*verb, options->common, options->restart);
  AddWayFlags(*verb, *options);
  AddRegistryFlags(*verb, *options);
  verb->add_option("--print", options->print,
                   "minikube or kubespray: print what to give it instead, change nothing")
      ->type_name("TOOL")
      ->excludes(dry_run);
  verbs.OnRun(*verb, [options] { return RunConfigure(*options); });
}

void AddRevert(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<RevertOptions>();
  CLI::App* verb = group.add_subcommand("revert", "Take back what configure did, and nothing else");
  verb->footer(
      "Files that nobody edited since get their first bytes again; of others only our keys go.\n\n"
      "  kgpu runtime revert --dry-run\n"
      "  kgpu runtime revert --engine docker --restart");
  AddRuntimeFlags(*verb, options->common);
  AddOutput(*verb, options->common);
  verb->add_flag("-n,--dry-run", options->is_dry_run, "Print diffs and steps, change nothing");
  AddRestart(*verb, options->common, options->restart);
  verbs.OnRun(*verb, [options] { return RunRevert(*options); });
}

void AddInstall(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<RuntimeInstallOptions>();
  CLI::App* verb =
      group.add_subcommand("install", "Get an engine from the packages of the distribution");
  verb->footer("  kgpu runtime install --engine podman --dry-run");
  AddRuntimeFlags(*verb, options->common);
  verb->add_flag("-n,--dry-run", options->is_dry_run, "Print the commands, run none");
  verbs.OnRun(*verb, [options] { return RunRuntimeInstall(*options); });
}

}  // namespace

void AddRuntimeVerbs(VerbRegistrar& verbs) {
  CLI::App* group = verbs.app().add_subcommand(
      "runtime",
      "Container engines (docker, containerd, CRI-O, podman): status, configure, check, revert, "
      "install");
  group->require_subcommand(1);
  AddRuntimeStatus(verbs, *group);
  AddConfigure(verbs, *group);
  AddRuntimeCheck(verbs, *group);
  AddRevert(verbs, *group);
  AddInstall(verbs, *group);
}

}  // namespace kgpu::cli
