#include "src/cli/agent.h"

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "src/agent/agent.h"
#include "src/cli/environment.h"
#include "src/cli/host_options.h"
#include "src/cli/node_name.h"
#include "src/cli/signals.h"
#include "src/cli/state_dir.h"
#include "src/cli/version.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/program_pages.h"

namespace kgpu::cli {
namespace {

struct AgentVerbOptions {
  HostOptions host;
  agent::AgentOptions agent;
  std::string http_address;
};

// One heap for all threads: they allocate little at a time, and a heap for each keeps 0.4 MiB.
void ShareTheHeap() {
  (void)mallopt(M_ARENA_MAX, 1);
}

// After so long everything that a start does is done, but for what waits for others.
constexpr std::chrono::seconds kStarted{10};

StatusOr<ExitCode> RunAgent(AgentVerbOptions options) {
  ShareTheHeap();
  SetLogLevel(LogLevel::kInfo);
  // Before gRPC starts threads, which inherit the mask.
  ASSIGN_OR_RETURN(const UniqueFd signals, TakeSignals({SIGINT, SIGTERM, SIGHUP}));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(options.agent.probe_path, FindProbe(options.host));
  options.agent.nvml_library = options.host.nvml_library;
  options.agent.version = VersionNumber();
  options.agent.node_name = NodeName(options.agent.node_name);
  options.agent.environment = Environment();
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(std::unique_ptr<agent::Agent> agent,
                   agent::Agent::Start(*loop, root, options.agent));
  ASSIGN_OR_RETURN(const WatchId watch, loop->WatchReadable(signals.get(), [&] {
    while (const int signal = NextSignal(signals.get())) {
      if (signal == SIGHUP) {
        agent->Reload();
      } else {
        loop->Quit();
      }
    }
  }));
  // Much of the program is for other verbs and for the start: it would stay in memory.
  loop->After(kStarted, &sys::ForgetStartUpPages);
  loop->Run();
  KGPU_LOG(kInfo, "agent stops");
  loop->Unwatch(watch);
  agent.reset();
  return ExitCode::kOk;
}

}  // namespace

void AddAgentVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<AgentVerbOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "agent", "Run the node's daemon: GPUs for pods, through the kubelet's device plugin API");
  verb->footer(
      "Runs until SIGTERM. SIGHUP reads the configuration again; so does a change of its file.\n"
      "Kubelet, driver, container runtime and configuration may come in any order and go again.\n"
      "\n"
      "  kgpu agent\n"
      "  kgpu agent --config /etc/kgpu/config.yaml --http-address :9401\n"
      "  kgpu status                   what the running agent does, and why not more");
  verb->add_option("--config", options->agent.config_file,
                   "Configuration of the node (default: /etc/kgpu/config.yaml where it is there)")
      ->envname("KGPU_CONFIG")
      ->type_name("FILE");
  verb->add_option("--kubelet-dir", options->agent.kubelet_dir,
                   "The kubelet's root folder: device-plugins/ and plugins_registry/ lie below it")
      ->envname("KGPU_KUBELET_DIR")
      ->type_name("DIR")
      ->capture_default_str();
  verb->add_option("--run-dir", options->agent.run_dir, "Folder of agent.sock")
      ->envname("KGPU_RUN_DIR")
      ->type_name("DIR")
      ->capture_default_str();
  AddStateDirOption(*verb, options->agent.state_dir);
  verb->add_option("--cdi-dir", options->agent.cdi_folder, "Folder of the host for our CDI specs")
      ->type_name("DIR")
      ->capture_default_str();
  verb->add_option("--runtime-socket", options->agent.runtime_sockets,
                   "Socket of the container runtime's CRI (default: the usual ones of the host)")
      ->type_name("FILE");
  verb->add_option("--http-address", options->http_address,
                   "Address of /healthz, /readyz and /metrics; wins over the configuration; "
                   "\"off\" for none")
      ->envname("KGPU_HTTP_ADDRESS")
      ->type_name("ADDRESS");
  verb->add_option("--kubeconfig", options->agent.kubeconfig,
                   "Credentials for the cluster (default: $KUBECONFIG, else the pod's own)")
      ->type_name("FILE");
  verb->add_option("--context", options->agent.context, "Context of the kubeconfig")
      ->type_name("NAME");
  AddNodeNameOption(*verb, options->agent.node_name);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] {
    if (!options->http_address.empty()) {
      options->agent.http_address = options->http_address == "off" ? "" : options->http_address;
    }
    return RunAgent(*options);
  });
}

}  // namespace kgpu::cli
