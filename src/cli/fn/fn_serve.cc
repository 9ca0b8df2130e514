// `kgpu fn serve`: the daemon that runs functions as containers on this machine.
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_engine.h"
#include "src/cli/fn/queue_options.h"
#include "src/functions/provider/container_command.h"
#include "src/functions/provider/leftovers.h"
#include "src/functions/provider/provider.h"
#include "src/functions/service/service.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/log_format.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {
namespace {

struct FnServeOptions {
  functions::ProviderOptions provider;
  std::string host_root;
  std::string podman;
  FnEngineOptions engine;
  QueueCommandOptions queue;
  std::string http_address = "off";
  std::string start_limit = "2m";
  std::vector<std::string> labels;
};

Status SetLabels(const std::vector<std::string>& given, functions::ProviderOptions& options) {
  utsname system{};
  if (uname(&system) == 0) {
    const std::string_view machine = system.machine;
    options.node_labels["kubernetes.io/os"] = "linux";
    options.node_labels["kubernetes.io/arch"] =
        machine == "x86_64" ? "amd64" : (machine == "aarch64" ? "arm64" : std::string(machine));
  }
  options.node_labels["kubernetes.io/hostname"] = NodeName("");
  for (const std::string& label : given) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("--label: {} must be KEY=VALUE", label);
    }
    options.node_labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return OkStatus();
}

StatusOr<functions::EngineSettings> ServeEngine(const FnServeOptions& given) {
  functions::EngineSettings engine{.podman = given.podman, .flags = given.engine.flags};
  if (given.podman.empty()) {
    ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
    ASSIGN_OR_RETURN(engine, ContainerEngine(given.engine, root));
  } else {
    SetProcessLimits(engine);
  }
  engine.run_flags = given.provider.engine.run_flags;
  return engine;
}

StatusOr<functions::ProviderOptions> ProviderOptionsOf(const FnServeOptions& given) {
  functions::ProviderOptions options = given.provider;
  options.run_dir = BelowHostRoot(options.run_dir, kRunDir, given.host_root);
  options.state_dir = BelowHostRoot(options.state_dir, kStateDir, given.host_root);
  ASSIGN_OR_RETURN(options.engine, ServeEngine(given));
  ASSIGN_OR_RETURN(options.start_limit, ParseDuration("--start-limit", given.start_limit));
  RETURN_IF_ERROR(SetLabels(given.labels, options));
  return options;
}

StatusOr<ExitCode> RunFnServe(const FnServeOptions& given) {
  ASSIGN_OR_RETURN(const functions::ProviderOptions options, ProviderOptionsOf(given));
  SetLogLevel(LogLevel::kInfo);
  SetLogFormat(LogFormat::kKeyValue);
  ASSIGN_OR_RETURN(const UniqueFd signals, sys::TakeSignals({SIGINT, SIGTERM}));
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  RETURN_IF_ERROR(functions::WriteEngineRecord(options.run_dir, options.engine));
  constexpr size_t kProgramsAtATime = 4;
  functions::ChildPrograms programs(*loop, Environment(), kProgramsAtATime);
  ASSIGN_OR_RETURN(const std::unique_ptr<functions::Provider> provider,
                   functions::Provider::Open(*loop, programs, options, Random::SeedFromKernel()));
  ASSIGN_OR_RETURN(functions::QueueMaker make_queue,
                   QueueMakerOf(*loop, given.queue, provider->folders().queue));
  ASSIGN_OR_RETURN(const std::unique_ptr<functions::Service> service,
                   functions::Service::Start(*loop, *provider, Random::SeedFromKernel(),
                                             {.version = VersionNumber(),
                                              .make_queue = std::move(make_queue),
                                              .mesh_folder = MeshFolder(provider->folders()),
                                              .stopped = [&] {
                                                // After its answer has been sent.
                                                loop->After(std::chrono::milliseconds(100),
                                                            [&] { loop->Quit(); });
                                              }}));
  ASSIGN_OR_RETURN(const std::string socket, service->Listen(options.run_dir + "/functions.sock"));
  KGPU_LOG(kInfo, "function service started", {"address", socket});
  RETURN_IF_ERROR(service->ListenForFunctions());
  if (given.http_address != "off") {
    ASSIGN_OR_RETURN(const std::string address, service->Listen(given.http_address));
    KGPU_LOG(kInfo, "function service started", {"address", address});
  }
  ASSIGN_OR_RETURN(const WatchId watch, loop->WatchReadable(signals.get(), [&] {
    while (sys::NextSignal(signals.get()) != 0) {
      loop->Quit();
    }
  }));
  loop->Run();
  loop->Unwatch(watch);
  KGPU_LOG(kInfo, "function service stopped");
  return ExitCode::kOk;
}

}  // namespace

void AddFnServeCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnServeOptions>(
      group, "serve", "Run functions as containers on this machine, until SIGTERM", &RunFnServe);
  command.footer(
      "`kgpu fn up` starts it, together with the agent that lends the GPUs. Listens on\n"
      "functions.sock in the run folder. Containers survive its end: the next one adopts them.\n"
      "`kgpu fn down` ends them.\n"
      "\n"
      "  kgpu fn serve\n"
      "  kgpu fn serve --http-address 127.0.0.1:8080 --label nodetype=gpunode\n"
      "  kgpu fn serve --engine-flag=--root=/data/containers");
  AddRunDirOption(command, options.provider.run_dir, "Folder of functions.sock and agent.sock");
  AddStateDirOption(command, options.provider.state_dir, "Folder for functions and queued calls");
  AddHostRootOption(command, options.host_root);
  AddValue(command, "--http-address", options.http_address, "ADDRESS",
           "Also listen here, without TLS and without authentication; \"off\": only on the socket");
  AddValue(command, "--podman", options.podman, "FILE", "Path of podman (default: from $PATH)");
  AddEngineOptions(command, options.engine);
  AddValue(command, "--run-flag", options.provider.engine.run_flags, "FLAG",
           "Flag of every `podman run` (repeatable)");
  AddValue(command, "--label", options.labels, "KEY=VALUE",
           "Label of this machine, which constraints of functions are compared with (repeatable)");
  AddValue(command, "--start-limit", options.start_limit, "TIME",
           "How long a replica may take until its handler is loaded");
  AddQueueOptions(command, options.queue);
}

}  // namespace kgpu::cli
