// `kgpu fn up`, `down` and `status`: the agent and the function service of one machine.
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_daemons.h"
#include "src/cli/fn/fn_engine.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/cli/fn/fn_leftovers.h"
#include "src/cli/fn/fn_view.h"
#include "src/functions/provider/leftovers.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kStartLimit = seconds(60);
constexpr milliseconds kStopLimit = seconds(30);
// Removing containers waits for calls in flight.
constexpr milliseconds kDrainLimit = std::chrono::hours(1);

// All GPUs of the machine for functions. Used only where there is no configuration.
constexpr const char* kLocalConfig =
    R"(# Written by `kgpu fn up`, since this machine had no configuration.
apiVersion: kgpu.dev/v1
kind: NodeConfig
pools:
- devices: all
  provider: local
)";

// The provider of a simulated host finds its CDI specs and devices where podman looks for them; the
// machine's own mounts stay as they are.
constexpr const char* kOnHost =
    R"(mkdir -p /run/cdi "$0"/run/cdi && mount --bind "$0"/run/cdi /run/cdi && exec "$@")";

struct FnUpOptions {
  std::string run_dir = kRunDir;
  std::string state_dir = kStateDir;
  std::string host_root;
  std::string config;
  std::string http_address = "off";
  std::string podman;
  FnEngineOptions engine;
  std::vector<std::string> run_flags;
  std::vector<std::string> labels;
  std::string output = "table";
  bool is_dry_run = false;
  bool purges = false;
};

// Where things are, and what is started.
struct UpPlan {
  std::string run_dir;
  std::string state_dir;
  std::string agent_socket;
  std::string service_socket;
  std::string agent_log;
  std::string service_log;
  std::string config;  // of the agent
  bool writes_config = false;
  std::vector<std::string> agent;    // empty: one answers already
  std::vector<std::string> service;  // likewise
};

std::string StartedAgentFile(const UpPlan& plan) {
  return plan.run_dir + "/functions-agent.pid";
}

void AddFlags(std::vector<std::string>& argv, const std::string& flag,
              const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    argv.push_back(fmt::format("{}={}", flag, value));
  }
}

UpPlan PlacesOf(const FnUpOptions& options) {
  UpPlan plan;
  plan.run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host_root);
  plan.state_dir = BelowHostRoot(options.state_dir, kStateDir, options.host_root);
  plan.agent_socket = plan.run_dir + "/agent.sock";
  plan.service_socket = plan.run_dir + "/functions.sock";
  plan.agent_log = plan.state_dir + "/agent.log";
  plan.service_log = plan.state_dir + "/functions.log";
  return plan;
}

// The file that is named, else the machine's, else one that gives all GPUs to functions.
void ChooseConfig(const FnUpOptions& options, UpPlan& plan) {
  const std::string usual = options.host_root + "/etc/kgpu/config.yaml";
  std::error_code ignored;
  if (!options.config.empty()) {
    plan.config = options.config;
  } else if (fs::exists(usual, ignored)) {
    plan.config = usual;
  } else {
    plan.config = plan.state_dir + "/functions-node-config.yaml";
    plan.writes_config = true;
  }
}

StatusOr<UpPlan> PlanUp(const FnUpOptions& options) {
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  const std::string kgpu = folder + "/kgpu";
  UpPlan plan = PlacesOf(options);
  const bool is_simulated = !options.host_root.empty() && options.host_root != "/";
  ASSIGN_OR_RETURN(const pid_t agent, ListenerOf(plan.agent_socket));
  if (agent == 0) {
    ChooseConfig(options, plan);
    plan.agent = {kgpu,        "agent",      "--config",    plan.config,
                  "--run-dir", plan.run_dir, "--state-dir", plan.state_dir};
    if (is_simulated) {
      plan.agent.insert(plan.agent.end(), {"--host-root", options.host_root, "--engine-root", "/",
                                           "--http-address", "off"});
    }
  }
  ASSIGN_OR_RETURN(const pid_t service, ListenerOf(plan.service_socket));
  if (service == 0) {
    if (is_simulated) {
      plan.service = {"/usr/bin/unshare", "--mount", "--propagation", "private",
                      "/bin/sh",          "-c",      kOnHost,         options.host_root};
    }
    plan.service.insert(plan.service.end(),
                        {kgpu, "fn", "serve", "--run-dir", plan.run_dir, "--state-dir",
                         plan.state_dir, "--http-address", options.http_address});
    if (!options.podman.empty()) {
      plan.service.insert(plan.service.end(), {"--podman", options.podman});
    }
    AddFlags(plan.service, "--engine-flag", options.engine.flags);
    AddFlags(plan.service, "--run-flag", options.run_flags);
    AddFlags(plan.service, "--label", options.labels);
  }
  return plan;
}

std::string CommandText(const std::vector<std::string>& argv) {
  std::vector<std::string> words(argv.size());
  std::ranges::transform(argv, words.begin(), ShellWord);
  return Join(words, " ");
}

std::string PlanText(const UpPlan& plan) {
  std::string text;
  if (!plan.agent.empty() && plan.writes_config) {
    text += fmt::format("write {}:\n{}", plan.config, kLocalConfig);
  }
  text += plan.agent.empty() ? fmt::format("an agent answers at {}\n", plan.agent_socket)
                             : fmt::format("start {}\n", CommandText(plan.agent));
  text += plan.service.empty()
              ? fmt::format("a function service answers at {}\n", plan.service_socket)
              : fmt::format("start {}\n", CommandText(plan.service));
  return text;
}

Status StartAgent(const UpPlan& plan) {
  if (plan.writes_config) {
    RETURN_IF_ERROR(sys::WriteFileAtomically(plan.config, kLocalConfig));
  }
  const Progress progress("starting the agent");
  ASSIGN_OR_RETURN(const pid_t daemon, StartDaemon(plan.agent, plan.agent_log));
  // First of all: whoever interrupts us finds in it what to stop.
  RETURN_IF_ERROR(sys::WriteFileAtomically(StartedAgentFile(plan), std::to_string(daemon)));
  return AwaitSocket(plan.agent_socket, daemon, plan.agent_log, kStartLimit);
}

Status StartService(const UpPlan& plan) {
  const Progress progress("starting the function service");
  ASSIGN_OR_RETURN(const pid_t daemon, StartDaemon(plan.service, plan.service_log));
  return AwaitSocket(plan.service_socket, daemon, plan.service_log, kStartLimit);
}

StatusOr<ExitCode> RunFnUp(const FnUpOptions& options) {
  ASSIGN_OR_RETURN(const UpPlan plan, PlanUp(options));
  if (options.is_dry_run) {
    return OkOr(PrintOut(PlanText(plan)));
  }
  for (const std::string& folder : {plan.run_dir, plan.state_dir}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return ErrnoStatus(error.value(), "create " + folder);
    }
  }
  if (!plan.agent.empty()) {
    RETURN_IF_ERROR(StartAgent(plan));
    RETURN_IF_ERROR(PrintOut(fmt::format("started the agent, which logs to {}\n", plan.agent_log)));
  }
  if (!plan.service.empty()) {
    RETURN_IF_ERROR(StartService(plan));
    RETURN_IF_ERROR(PrintOut(
        fmt::format("started the function service, which logs to {}\n", plan.service_log)));
  }
  return OkOr(PrintOut("functions can be deployed: kgpu fn deploy -f FILE\n"));
}

Status StopService(const UpPlan& plan) {
  const Progress progress("removing replicas");
  ASSIGN_OR_RETURN(const pid_t service, ListenerOf(plan.service_socket));
  if (service == 0) {
    return RemoveLeftovers(plan.run_dir, plan.state_dir);
  }
  ASSIGN_OR_RETURN(const http::Response response,
                   AskGateway({.address = plan.service_socket},
                              {.method = "POST", .target = "/v1/stop"}, kDrainLimit));
  // It ends in any case, and `kgpu fn up` must not take it for one that runs.
  RETURN_IF_ERROR(EndProcess(service, kStopLimit));
  return response.code == 200 ? OkStatus() : GatewayRefusal(response);
}

// Only the agent that `kgpu fn up` has started.
Status StopAgent(const UpPlan& plan) {
  const std::string file = StartedAgentFile(plan);
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const StatusOr<std::string> text = root.ReadFile(file);
  if (!text.ok()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const pid_t agent, ListenerOf(plan.agent_socket));
  if (agent != 0 && std::to_string(agent) == Trim(*text)) {
    const Progress progress("stopping the agent");
    RETURN_IF_ERROR(EndProcess(agent, kStopLimit));
  }
  (void)std::remove(file.c_str());
  return OkStatus();
}

StatusOr<ExitCode> RunFnDown(const FnUpOptions& options) {
  const UpPlan plan = PlacesOf(options);
  RETURN_IF_ERROR(StopService(plan));
  RETURN_IF_ERROR(EndLoansWithoutAgent(plan.run_dir, plan.state_dir));
  RETURN_IF_ERROR(functions::RemoveEngineRecord(plan.run_dir));
  RETURN_IF_ERROR(StopAgent(plan));
  if (options.purges) {
    std::error_code error;
    fs::remove_all(plan.state_dir + "/functions", error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("remove {}/functions", plan.state_dir));
    }
  }
  return OkOr(PrintOut(options.purges ? "stopped; deployed functions were deleted\n"
                                      : "stopped; functions stay deployed\n"));
}

StatusOr<ExitCode> RunFnStatus(const FnUpOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  const UpPlan plan = PlacesOf(options);
  ASSIGN_OR_RETURN(const pid_t agent, ListenerOf(plan.agent_socket));
  ASSIGN_OR_RETURN(const pid_t service, ListenerOf(plan.service_socket));
  boost::json::value functions = boost::json::object{{"Functions", boost::json::array()}};
  if (service != 0) {
    ASSIGN_OR_RETURN(functions, AskGatewayForJson({.address = plan.service_socket},
                                                  {.target = "/system/functions"}));
  }
  const auto line = [](const char* what, pid_t process, const char* fix) {
    return process != 0 ? fmt::format("{}: running, process {}\n", what, process)
                        : fmt::format("{}: not running: {}\n", what, fix);
  };
  const std::string table = line("agent", agent, "kgpu fn up, or kgpu agent") +
                            line("function service", service, "kgpu fn up") +
                            FunctionsTable(functions);
  const boost::json::object json{
      {"agent", agent}, {"service", service}, {"functions", functions.at("Functions")}};
  RETURN_IF_ERROR(PrintAs(format, table, json));
  return agent != 0 && service != 0 ? ExitCode::kOk : ExitCode::kUnhealthy;
}

void AddPlaces(CLI::App& command, FnUpOptions& options) {
  AddRunDirOption(command, options.run_dir, "Folder of the sockets");
  AddStateDirOption(command, options.state_dir);
  AsPath(AddHostRootOption(command, options.host_root));
}

void AddUp(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnUpOptions>(
      group, "up", "Start what functions need on this machine: the agent and the service",
      &RunFnUp);
  command.footer(
      "Anything that is already running is left alone. Without a configuration of the node, all "
      "GPUs are\n"
      "given to functions (a pool with `provider: local`). Daemons are started in the background\n"
      "and log to the state folder; under systemd, run `kgpu agent` and `kgpu fn serve`\n"
      "as units instead.\n"
      "\n"
      "  kgpu fn up --dry-run\n"
      "  kgpu fn up\n"
      "  kgpu fn up --host-root /tmp/host       on a simulated host");
  AddPlaces(command, options);
  AddConfigOption(command, options.config);
  AddValue(command, "--http-address", options.http_address, "ADDRESS",
           "Address on which the service listens too; \"off\": none");
  AddValue(command, "--podman", options.podman, "FILE", "Path of podman (default: from $PATH)");
  AddEngineOptions(command, options.engine);
  AddValue(command, "--run-flag", options.run_flags, "FLAG",
           "Flag of every `podman run` (repeatable)");
  AddValue(command, "--label", options.labels, "KEY=VALUE", "Label of this machine (repeatable)");
  command.add_flag("--dry-run", options.is_dry_run, "Print what would be started");
}

}  // namespace

void AddFnUpCommands(CommandRegistrar& registrar, CLI::App& group) {
  AddUp(registrar, group);

  auto [down, down_options] = registrar.Add<FnUpOptions>(
      group, "down", "Remove all replicas and stop what kgpu fn up started", &RunFnDown);
  down.footer(
      "Calls in flight are finished first. Deployed functions are started again by the next up.\n"
      "Where the service was killed, its containers and loans go, too.\n"
      "\n"
      "  kgpu fn down\n"
      "  kgpu fn down --purge");
  AddPlaces(down, down_options);
  down.add_flag("--purge", down_options.purges, "Also delete deployed functions, logs and usage");

  auto [status, status_options] = registrar.Add<FnUpOptions>(
      group, "status", "Show whether functions can run, and the deployed ones", &RunFnStatus);
  status.footer(
      "Exits 7 when the agent or the service does not run.\n"
      "\n"
      "  kgpu fn status");
  AddPlaces(status, status_options);
  AddOutputOption(status, status_options.output);
}

}  // namespace kgpu::cli
