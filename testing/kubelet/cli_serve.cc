#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "src/container/cdi/folder.h"
#include "src/platform/base/status_macros.h"
#include "testing/kubelet/ask.h"
#include "testing/kubelet/cli.h"
#include "testing/kubelet/json_fields.h"
#include "testing/kubelet/pod_json.h"
#include "testing/kubelet/pod_store.h"
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
  std::string host;
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
                  "Factor for the kubelet's time limits; 0.0167 turns a minute into a second")
      ->check(CLI::Range(1e-4, 100.0))
      ->capture_default_str();
  verb.add_option("--topology", flags.topology,
                  "Topology manager policy: none, best-effort, restricted, single-numa-node")
      ->check(CLI::IsMember(Policies()))
      ->capture_default_str();
  verb.add_option("--runtime", flags.runtime,
                  "none: simulated containers; runc: real ones, needs root and --rootfs")
      ->check(CLI::IsMember({"none", "runc"}))
      ->capture_default_str();
  verb.add_option("--rootfs", flags.rootfs,
                  "Folder with the root file system of all containers (runc)");
  verb.add_option("--cdi-dir", flags.cdi_folders,
                  "CDI spec folder (repeatable; later ones take precedence; default: /etc/cdi and "
                  "/var/run/cdi)")
      ->allow_extra_args(false);
  verb.add_option("--host", flags.host,
                  "Simulated host that gets the pods' log folders in var/log/pods");
}

StatusOr<ServeOptions> OptionsOf(const ServeFlags& flags, const std::string& folder) {
  ServeOptions options;
  options.folder = folder;
  options.scale = flags.scale;
  options.topology = Policies().at(flags.topology);
  options.runtime = flags.runtime;
  if (!flags.rootfs.empty()) {
    ASSIGN_OR_RETURN(options.rootfs, simhost::AbsoluteFolder(flags.rootfs));
  }
  for (const std::string& cdi_folder : flags.cdi_folders) {
    ASSIGN_OR_RETURN(options.cdi_folders.emplace_back(), simhost::AbsoluteFolder(cdi_folder));
  }
  if (options.cdi_folders.empty()) {
    options.cdi_folders = {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)};
  }
  if (!flags.host.empty()) {
    ASSIGN_OR_RETURN(options.host, simhost::AbsoluteFolder(flags.host));
  }
  options.ready_fd = flags.ready_fd;
  return options;
}

std::vector<std::string> Argv(const ServeFlags& flags, const ServeOptions& options,
                              const std::string& program) {
  std::vector<std::string> argv = {program,        "kubelet",      "serve",
                                   options.folder, "--scale",      fmt::format("{}", flags.scale),
                                   "--topology",   flags.topology, "--runtime",
                                   flags.runtime};
  if (!options.rootfs.empty()) {
    argv.insert(argv.end(), {"--rootfs", options.rootfs});
  }
  for (const std::string& folder : options.cdi_folders) {
    argv.insert(argv.end(), {"--cdi-dir", folder});
  }
  if (!options.host.empty()) {
    argv.insert(argv.end(), {"--host", options.host});
  }
  return argv;
}

Status Start(const ServeFlags& flags, const std::string& folder,
             const simhost::CliContext& context) {
  if (const auto pid = simhost::LockHolder(folder); pid) {
    return AlreadyExists("{}: kubelet already running as process {}", folder, *pid);
  }
  ASSIGN_OR_RETURN(const ServeOptions options, OptionsOf(flags, folder));
  // The folder must be there before the log in it.
  RETURN_IF_ERROR(ClaimKubeletFolder(folder));
  ASSIGN_OR_RETURN(const int pid,
                   simhost::StartServer(Argv(flags, options, context.program), folder));
  context.print(fmt::format("{}: kubelet running as process {}", folder, pid));
  context.print(fmt::format("  plugins register at {}/device-plugins/kubelet.sock", folder));
  return OkStatus();
}

void AddServe(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb =
      AddFolderVerb(kubelet, context, "serve", "Run the kubelet in the foreground",
                    [flags](const std::string& folder) -> Status {
                      ASSIGN_OR_RETURN(const ServeOptions options, OptionsOf(*flags, folder));
                      return ServeKubelet(options);
                    });
  AddServeFlags(*verb, *flags);
  verb->add_option("--ready-fd", flags->ready_fd,
                   "Descriptor to write a byte to when plugins can connect");
}

void AddStart(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "start",
      "Run the kubelet in the background; pods of an earlier one continue",
      [flags, &context](const std::string& folder) { return Start(*flags, folder, context); });
  AddServeFlags(*verb, *flags);
}

// Ends every pod, one after the other.
Status DeletePods(const std::string& folder) {
  ASSIGN_OR_RETURN(const json::value status, Ask(folder, {{"command", "status"}}));
  static constexpr double kLimit = 60;
  const JsonFields fields(status, "status");
  ASSIGN_OR_RETURN(const JsonFields pods, fields.Field("pods"));
  return pods.ForEachItem([&folder](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(const Pod pod, PodFromJson(item.value(), item.where()));
    return Ask(folder,
               {{"command", "delete"},
                {"pod", PodKey(pod.spec.name_space, pod.spec.name)},
                {"timeout", kLimit}},
               std::chrono::minutes(2))
        .status();
  });
}

void AddStop(CLI::App& kubelet, simhost::CliContext& context) {
  auto is_all = std::make_shared<bool>(false);
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "stop",
      "Stop the process; pods are kept for the next start, real containers keep running",
      [is_all, &context](const std::string& folder) -> Status {
        if (*is_all) {
          RETURN_IF_ERROR(DeletePods(folder));
        }
        ASSIGN_OR_RETURN(const int pid, simhost::StopServer(folder));
        context.print(fmt::format("{}: stopped process {}", folder, pid));
        return OkStatus();
      });
  verb->add_flag("--pods", *is_all, "First delete all pods with their containers");
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
      "Stop the kubelet and start it again; containers keep running, plugins must register again",
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
        context.print(fmt::format("{}: kubelet restarted", folder));
        return OkStatus();
      });
  verb->add_option("--down", flags->down, "Seconds between stop and start");
  verb->add_option("--listen-delay", flags->listen_delay,
                   "Seconds during which kubelet.sock exists but refuses connections");
  verb->add_flag("--reboot", flags->is_reboot, "Also stop all containers, as in a reboot");
}

}  // namespace

void AddServeVerbs(CLI::App& kubelet, simhost::CliContext& context) {
  AddServe(kubelet, context);
  AddStart(kubelet, context);
  AddStop(kubelet, context);
  AddRestart(kubelet, context);
}

}  // namespace kgpu::kubelet
