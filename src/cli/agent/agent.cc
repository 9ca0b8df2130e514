#include "src/cli/base/commands.h"

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/agent/agent.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/node/config/values.h"
#include "src/platform/base/log.h"
#include "src/platform/base/log_format.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/program_pages.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {
namespace {

struct AgentCommandOptions {
  HostOptions host;
  agent::AgentOptions agent;
  std::string http_address;
};

// One heap for all threads: they allocate little at a time, and a heap for each keeps 0.4 MiB.
void ShareTheHeap() {
  (void)mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread so far
}

// After this time a start has done everything but what waits for others.
constexpr std::chrono::seconds kStarted{10};
// Pages that rare events need would add up in memory.
constexpr std::chrono::minutes kForgetAgain{10};

// An error in the command line itself does not go away: retrying would hide it.
Status CheckFlags(const AgentCommandOptions& options) {
  if (options.http_address != "off") {
    RETURN_IF_ERROR(Annotate(config::CheckHttpAddress(options.http_address), "--http-address"));
  }
  for (const auto& [flag, file] : {std::pair("--config", &options.agent.config_file),
                                   std::pair("--kubeconfig", &options.agent.kubeconfig)}) {
    if (!file->empty()) {
      RETURN_IF_ERROR(Annotate(CheckNamedPath(*file), "{}", flag));
    }
  }
  return OkStatus();
}

// The same host, with the same driver.
mig::HelperHost MigHostOf(const AgentCommandOptions& options) {
  return {.host_root = options.host.host_root,
          .driver_root = options.host.driver_root,
          .engine_root = options.host.engine_root,
          .nvml_library = options.host.nvml_library,
          .probe = options.agent.probe_path,
          .kubelet_dir = options.agent.kubelet_dir};
}

// Notes that the option was given, whatever its value.
void AsNamed(CLI::Option* option, agent::AgentOptions& options,
             std::string agent::AgentOptions::* folder) {
  option->each([&options, folder](const std::string&) { options.named_folders.push_back(folder); });
}

StatusOr<ExitCode> RunAgent(const AgentCommandOptions& given) {
  AgentCommandOptions options = given;
  RETURN_IF_ERROR(CheckFlags(options));
  if (!options.http_address.empty()) {
    options.agent.http_address = options.http_address == "off" ? "" : options.http_address;
  }
  ShareTheHeap();
  SetLogLevel(LogLevel::kInfo);
  SetLogFormat(LogFormat::kKeyValue);
  // Before gRPC starts threads, which inherit the mask.
  ASSIGN_OR_RETURN(const UniqueFd signals, sys::TakeSignals({SIGINT, SIGTERM, SIGHUP}));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  options.agent.environment = Environment();
  ASSIGN_OR_RETURN(options.agent, agent::BelowHostRoot(options.agent, root.host));
  ASSIGN_OR_RETURN(options.agent.probe_path, FindProbe(options.host));
  ASSIGN_OR_RETURN(options.agent.share_library, FindShareLibrary(options.agent.share_library));
  options.agent.nvml_library = options.host.nvml_library;
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  options.agent.mig_program = folder + "/kgpu";
  options.agent.mig_host = MigHostOf(options);
  options.agent.version = VersionNumber();
  options.agent.node_name = NodeName(options.agent.node_name);
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(std::unique_ptr<agent::Agent> agent,
                   agent::Agent::Start(*loop, root, options.agent));
  ASSIGN_OR_RETURN(const WatchId watch, loop->WatchReadable(signals.get(), [&] {
    while (const int signal = sys::NextSignal(signals.get())) {
      if (signal == SIGHUP) {
        agent->Reload();
      } else {
        loop->Quit();
      }
    }
  }));
  // Much of the program is for other commands and for the start: it would stay in memory.
  Timer pages(*loop);
  const std::function<void()> forget = [&] {
    sys::ForgetProgramPages();
    pages.Arm(kForgetAgain, forget);
  };
  pages.Arm(kStarted, forget);
  loop->Run();
  loop->Unwatch(watch);
  agent.reset();
  KGPU_LOG(kInfo, "agent stopped");
  return ExitCode::kOk;
}

}  // namespace

void AddAgentCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<AgentCommandOptions>(
      registrar.app(), "agent",
      "Run the node agent, which serves GPUs to pods through the kubelet's device plugin API",
      &RunAgent);
  command.footer(
      "Runs until SIGTERM. SIGHUP or a change of the file reloads the configuration. The kubelet,\n"
      "the driver and the container runtime may start, stop and restart in any order.\n"
      "\n"
      "  kgpu agent\n"
      "  kgpu agent --config /etc/kgpu/config.yaml --http-address :9401\n"
      "  kgpu status                   what the running agent does, and what is wrong");
  AddConfigOption(command, options.agent.config_file);
  AsNamed(AddValue(command, "--kubelet-dir", options.agent.kubelet_dir, "DIR",
                   "The kubelet's root folder, which contains device-plugins/ and "
                   "plugins_registry/")
              ->envname("KGPU_KUBELET_DIR"),
          options.agent, &agent::AgentOptions::kubelet_dir);
  AsNamed(AddRunDirOption(command, options.agent.run_dir, "Folder of agent.sock"), options.agent,
          &agent::AgentOptions::run_dir);
  AsNamed(AddStateDirOption(command, options.agent.state_dir), options.agent,
          &agent::AgentOptions::state_dir);
  AddValue(command, "--share-library", options.agent.share_library, "FILE",
           "Library that enforces memory limits in containers (default: libkgpu-share.so in "
           "../lib/kgpu or beside kgpu)");
  AsPath(AddValue(command, "--mig-config", options.agent.mig_configs, "FILE",
                  "Named MIG configurations for the label nvidia.com/mig.config, as mig-parted "
                  "reads them; used if it exists"));
  AddValue(command, "--cdi-dir", options.agent.cdi_folder, "DIR",
           "Folder on the host for CDI specs");
  AddValue(command, "--runtime-socket", options.agent.runtime_sockets, "FILE",
           "Socket of the container runtime's CRI (default: the usual paths)");
  AddValue(command, "--http-address", options.http_address, "ADDRESS",
           "Address for /healthz, /readyz and /metrics; overrides the configuration; \"off\" "
           "disables it")
      ->envname("KGPU_HTTP_ADDRESS");
  AddValue(command, "--kubeconfig", options.agent.kubeconfig, "FILE",
           "Kubeconfig of the cluster (default: $KUBECONFIG, else the pod's service account)");
  AddValue(command, "--context", options.agent.context, "NAME", "Context in the kubeconfig");
  AddNodeNameOption(command, options.agent.node_name);
  AddHostOptions(command, options.host);
}

}  // namespace kgpu::cli
