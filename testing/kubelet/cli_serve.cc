#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "src/base/status_macros.h"
#include "testing/kubelet/ask.h"
#include "testing/kubelet/cli.h"
#include "testing/kubelet/serve.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/server.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

struct ServeFlags {
  double scale = 1;
  std::string topology = "none";
  std::string runtime = "none";
  std::string rootfs;
  std::vector<std::string> cdi_folders;
  int ready_fd = -1;
};

const std::map<std::string, TopologyPolicy>& Policies() {
  static const std::map<std::string, TopologyPolicy> kPolicies = {
      {"none", TopologyPolicy::kNone},
      {"best-effort", TopologyPolicy::kBestEffort},
      {"restricted", TopologyPolicy::kRestricted},
      {"single-numa-node", TopologyPolicy::kSingleNumaNode}};
  return kPolicies;
}

void AddServeFlags(CLI::App& verb, ServeFlags& flags) {
  verb.add_option("--scale", flags.scale,
                  "multiplies the kubelet's time limits; 0.0167 makes a minute a second")
      ->check(CLI::Range(1e-4, 100.0))
      ->capture_default_str();
  verb.add_option("--topology", flags.topology,
                  "policy of the topology manager: none, best-effort, restricted, single-numa-node")
      ->check(CLI::IsMember(Policies()))
      ->capture_default_str();
}

StatusOr<ServeOptions> OptionsOf(const ServeFlags& flags, const std::string& folder) {
  ServeOptions options;
  options.folder = folder;
  options.scale = flags.scale;
  options.topology = Policies().at(flags.topology);
  options.ready_fd = flags.ready_fd;
  return options;
}

std::vector<std::string> Argv(const ServeFlags& flags, const std::string& program,
                              const std::string& folder) {
  return {program,      "kubelet",     "serve", folder, "--scale", fmt::format("{}", flags.scale),
          "--topology", flags.topology};
}

Status Start(const ServeFlags& flags, const std::string& folder,
             const simhost::CliContext& context) {
  if (const auto pid = simhost::LockHolder(folder); pid) {
    return AlreadyExists("{}: process {} plays the kubelet there already", folder, *pid);
  }
  // The folder must be there before the log in it.
  RETURN_IF_ERROR(ClaimKubeletFolder(folder));
  ASSIGN_OR_RETURN(const int pid,
                   simhost::StartServer(Argv(flags, context.program, folder), folder));
  context.print(fmt::format("{}: process {} plays the kubelet", folder, pid));
  context.print(fmt::format("  plugins register at {}/device-plugins/kubelet.sock", folder));
  return OkStatus();
}

void AddServe(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb =
      AddFolderVerb(kubelet, context, "serve", "play the kubelet in the foreground",
                    [flags](const std::string& folder) -> Status {
                      ASSIGN_OR_RETURN(const ServeOptions options, OptionsOf(*flags, folder));
                      return ServeKubelet(options);
                    });
  AddServeFlags(*verb, *flags);
  verb->add_option("--ready-fd", flags->ready_fd,
                   "descriptor to write a byte to when plugins can connect");
}

void AddStart(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "start", "play the kubelet in the background; pods of an earlier one go on",
      [flags, &context](const std::string& folder) { return Start(*flags, folder, context); });
  AddServeFlags(*verb, *flags);
}

void AddStop(CLI::App& kubelet, simhost::CliContext& context) {
  AddFolderVerb(kubelet, context, "stop", "end the process; its pods are kept for the next start",
                [&context](const std::string& folder) -> Status {
                  ASSIGN_OR_RETURN(const int pid, simhost::StopServer(folder));
                  context.print(fmt::format("{}: stopped process {}", folder, pid));
                  return OkStatus();
                });
}

struct RestartFlags {
  double down = 0;
  double listen_delay = 0;
  bool is_reboot = false;
};

void AddRestart(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<RestartFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "restart",
      "stop the kubelet and start it again, containers go on: plugins must register again",
      [flags, &context](const std::string& folder) -> Status {
        const auto limit =
            std::chrono::milliseconds(static_cast<int64_t>((flags->down + 20) * 1000));
        RETURN_IF_ERROR(Ask(folder,
                            {{"command", "restart"},
                             {"down", flags->down},
                             {"listenDelay", flags->listen_delay},
                             {"reboot", flags->is_reboot}},
                            limit)
                            .status());
        context.print(fmt::format("{}: the kubelet has started again", folder));
        return OkStatus();
      });
  verb->add_option("--down", flags->down, "seconds between stop and start");
  verb->add_option("--listen-delay", flags->listen_delay,
                   "seconds for which kubelet.sock is there and refuses connections");
  verb->add_flag("--reboot", flags->is_reboot, "every container ends too, as when a node reboots");
}

}  // namespace

void AddServeVerbs(CLI::App& kubelet, simhost::CliContext& context) {
  AddServe(kubelet, context);
  AddStart(kubelet, context);
  AddStop(kubelet, context);
  AddRestart(kubelet, context);
}

}  // namespace kgpu::kubelet
