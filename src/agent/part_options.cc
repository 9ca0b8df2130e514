#include "src/agent/part_options.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ranges>
#include <system_error>
#include <utility>

#include "src/agent/privileges.h"
#include "src/container/cri/runtime_facts.h"
#include "src/gpu/health/journal.h"
#include "src/gpu/health/journal_faults.h"
#include "src/node/config/health_switches.h"
#include "src/node/object/host_facts.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

choice::ConfigSourceOptions ConfigSourceOptionsOf(const AgentOptions& options) {
  const bool is_named = !options.config_file.empty();
  return {.file = is_named ? options.config_file : kDefaultConfigFile,
          .must_exist = is_named,
          .saved = fmt::format("{}/{}", options.run_dir, kChoiceFile)};
}

health::Settings HealthOf(const AgentOptions& options, health::Settings settings) {
  settings.hold_down = options.hold_down.value_or(settings.hold_down);
  for (const std::string& note : config::ApplyHealthSwitches(options.environment, settings)) {
    KGPU_LOG(kInfo, "health rules changed by the environment", {"note", note});
  }
  return settings;
}

inventory::InventoryOptions InventoryOptionsOf(const AgentOptions& options,
                                               const choice::ConfigPtr& config,
                                               const Remembered& remembered) {
  inventory::InventoryOptions inventory;
  inventory.probe_path = options.probe_path;
  inventory.nvml_library = options.nvml_library;
  inventory.health = HealthOf(options, config ? config->health : config::HealthConfig());
  inventory.known_faults = remembered.faults.open;
  inventory.kernel_log_position = remembered.faults.kernel_log_position;
  return inventory;
}

MemoryKey KeyOf(const AgentOptions& options, const choice::ConfigPtr& config) {
  return {.boot_id = ReadBootId(options.boot_id_file),
          .config = config ? config::PrintNodeConfig(*config) : std::string()};
}

namespace {

// Of the host: what our manifests and unit mount over the agent's /dev/shm, so that neither the
// daemons nor their programs share the host's.
constexpr std::string_view kMpsSharedMemory = "/dev/shm/kgpu-mps";

struct KeptMemory {
  Remembered remembered;
  WallTime written{};  // the epoch: nothing of this boot is there
};

WallTime WrittenAt(const struct stat& status) {
  return TimeAt(std::chrono::seconds(status.st_mtim.tv_sec)) +
         std::chrono::nanoseconds(status.st_mtim.tv_nsec);
}

KeptMemory ReadMemory(const AgentOptions& options, const MemoryKey& key) {
  const auto folder = sys::Root::Open(options.run_dir);
  const auto status = folder.ok() ? folder->Stat(kMemoryFile) : folder.status();
  const auto text = folder.ok() ? folder->ReadFile(kMemoryFile, kMaxMemoryBytes) : folder.status();
  if (!status.ok() || !text.ok()) {
    return {};
  }
  StatusOr<node::SavedState> state = ParseMemory(*text, key);
  if (!state.ok()) {
    return {};
  }
  faults::SavedFaults faults = faults::ReadFaults(state->fields);
  return {{*std::move(state), std::move(faults)}, WrittenAt(*status)};
}

// Nothing if no entry of this boot can be newer than `since`: usual, and costs no memory.
StatusOr<std::vector<health::JournalEntry>> ReadIfNewer(const health::Journal& journal,
                                                        std::string_view boot_id, WallTime since) {
  struct stat status = {};
  if (stat(journal.path().c_str(), &status) != 0 || WrittenAt(status) <= since) {
    return std::vector<health::JournalEntry>();
  }
  ASSIGN_OR_RETURN(const health::Journal::Boots boots, journal.FindBoot(boot_id));
  if (boots != health::Journal::Boots::kThis) {
    return std::vector<health::JournalEntry>();
  }
  ASSIGN_OR_RETURN(health::JournalText text, journal.Read());
  return std::move(text.entries);
}

// Nothing if the disk does not answer in time or the journal cannot be read.
std::vector<health::JournalEntry> ReadJournal(const AgentOptions& options,
                                              const std::string& boot_id, WallTime since,
                                              sys::DiskWorker& disk) {
  using Entries = StatusOr<std::vector<health::JournalEntry>>;
  const Entries entries =
      disk.Await<Entries>([journal = health::Journal(options.state_dir, {}), boot_id, since] {
            return ReadIfNewer(journal, boot_id, since);
          })
          .value_or(Unavailable("the disk does not respond"));
  if (!entries.ok()) {
    KGPU_LOG(kWarning, "previous faults unknown", {"reason", Message(entries.status())},
             {"folder", options.state_dir});
  }
  return entries.value_or(std::vector<health::JournalEntry>());
}

// The list that is shown until the driver is heard may be older than the faults.
void MarkFaulty(Remembered& remembered) {
  pools::Assignment& assignment = remembered.state.assignment;
  for (std::vector<pools::Resource>* resources : {&assignment.resources, &assignment.local}) {
    for (pools::Slot& slot :
         *resources | std::views::transform(&pools::Resource::slots) | std::views::join) {
      const auto fault =
          std::ranges::find_if(remembered.faults.open, [&](const health::OpenFault& open) {
            return open.scope.gpu == slot.gpu && !open.scope.gpu_instance;
          });
      if (fault != remembered.faults.open.end() && slot.health.is_healthy) {
        slot.health = {.is_healthy = false, .reason = fault->rule, .message = fault->message};
      }
    }
  }
}

}  // namespace

Remembered Recall(const AgentOptions& options, const choice::ConfigPtr& config,
                  sys::DiskWorker& disk) {
  const MemoryKey key = KeyOf(options, config);
  KeptMemory kept = ReadMemory(options, key);
  if (!key.boot_id.empty()) {
    const auto entries = ReadJournal(options, key.boot_id, kept.written, disk);
    std::vector<health::OpenFault>& open = kept.remembered.faults.open;
    open = health::FaultsAfter(std::move(open), entries, key.boot_id, kept.written);
    MarkFaulty(kept.remembered);
  }
  return std::move(kept.remembered);
}

std::vector<std::string> RuntimeSockets(const AgentOptions& options, const sys::Root& host) {
  if (!options.runtime_sockets.empty()) {
    return options.runtime_sockets;
  }
  std::vector<std::string> sockets;
  sockets.reserve(cri::kUsualSockets.size());
  for (const std::string_view socket : cri::kUsualSockets) {
    sockets.push_back(host.At(socket));
  }
  return sockets;
}

telemetry::NameSets NameSetsOf(const choice::ConfigPtr& config) {
  telemetry::NameSets names;
  for (const config::NameSet name :
       config ? config->metrics.names : config::MetricsConfig().names) {
    names.Add(name);
  }
  return names;
}

std::vector<std::string> ResourcesToPrepare(const config::NodeConfig& config) {
  std::vector<std::string> resources;
  for (const config::Pool& pool : config.pools) {
    const std::string_view name = config::ResourceOf(pool);
    if (pool.provider == config::Provider::kKubelet && name.find('{') == std::string_view::npos) {
      resources.emplace_back(name);
    }
  }
  return resources;
}

inject::CapabilitySet CapabilitiesOf(const config::NodeConfig& config) {
  return inject::ParseCapabilities(config.plugin.capabilities)
      .value_or(inject::kDefaultCapabilities);
}

cluster::ClusterNodeOptions ClusterNodeOptionsOf(const AgentOptions& options,
                                                 const sys::Root& host) {
  std::error_code error;
  return {.sources = {.kubeconfig = options.kubeconfig,
                      .context = options.context,
                      .environment = options.environment,
                      .working_folder = std::filesystem::current_path(error).string(),
                      .ignores_home_kubeconfig = true},
          .node_name = options.node_name,
          .version = options.version,
          .device_plugins = options.kubelet_dir + "/device-plugins",
          .run_dir = options.run_dir,
          .booted = node::BootTime(host).value_or(WallTime())};
}

namespace {

bool HasSelinux(const host::DriverRoot& root) {
  return root.host.Stat("/sys/fs/selinux/enforce").ok();
}

slices::SliceFilesOptions SliceFilesIn(const char* name, const AgentOptions& options,
                                       const host::DriverRoot& root, const sys::Root& own) {
  const std::string folder = fmt::format("{}/{}", options.state_dir, name);
  return {.library = options.share_library,
          .folder = folder,
          .engine_folder = root.EnginePath(own, folder),
          .has_selinux = HasSelinux(root)};
}

}  // namespace

slices::SliceFilesOptions SliceFilesOptionsOf(const AgentOptions& options,
                                              const host::DriverRoot& root, const sys::Root& own) {
  return SliceFilesIn(kShareFolder, options, root, own);
}

slices::SliceFilesOptions LentFilesOptionsOf(const AgentOptions& options,
                                             const host::DriverRoot& root, const sys::Root& own) {
  slices::SliceFilesOptions files = SliceFilesIn(kLentFolder, options, root, own);
  files.most_kept = 0;
  return files;
}

bool OwnsSharedMemory(std::string_view mountinfo) {
  bool owns = false;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    constexpr size_t kRoot = 3;  // within its file system; the mount point follows
    const auto fields = Split(line, ' ');
    if (fields.size() > kRoot + 1 && fields[kRoot + 1] == mps::kSharedMemory) {
      owns = fields[kRoot].ends_with(kMpsSharedMemory.substr(kMpsSharedMemory.rfind('/')));
    }
  }
  return owns;
}

mps::MpsSharingOptions MpsSharingOptionsOf(const AgentOptions& options,
                                           const host::DriverRoot& root, const sys::Root& own) {
  const std::string folder = fmt::format("{}/{}", options.run_dir, kMpsFolder);
  mps::MpsSharingOptions mps{.folder = folder,
                             .paths = {.folder = root.EnginePath(own, folder)},
                             .has_selinux = HasSelinux(root),
                             .cgroup = {},
                             .node_name = options.node_name};
  const StatusOr<std::string> mounts = own.ReadFile("/proc/self/mountinfo");
  if (mounts.ok() && OwnsSharedMemory(*mounts)) {
    mps.own_shared_memory = mps::kSharedMemory;
    mps.paths.shared_memory = kMpsSharedMemory;
  } else if (root.host.Stat("dev/shm").ok()) {
    mps.shared_memory_problem = fmt::format(
        "the agent's {0} is not the host's {1}, and containers must not get the host's {0}: start "
        "the agent with the manifests or the systemd unit of this version, which mount it",
        mps::kSharedMemory, kMpsSharedMemory);
  }
  if (IsRunningHost(root.host)) {
    // When a pod of the agent ends, so does all in its cgroup; and servers need more memory than
    // agents are limited to.
    mps.cgroup = "/sys/fs/cgroup/kgpu-mps";
  }
  return mps;
}

claims::ClaimPartOptions ClaimPartOptionsOf(const AgentOptions& options) {
  return {.node = options.node_name,
          .kubelet_dir = options.kubelet_dir,
          .files = {.state_dir = options.state_dir,
                    .cdi_folder = options.cdi_folder,
                    .boot_id = ReadBootId(options.boot_id_file)},
          .mig = {.program = options.mig_program, .host = options.mig_host}};
}

layouts::MigLayoutsOptions MigLayoutsOptionsOf(const AgentOptions& options,
                                               const Remembered& remembered) {
  return {.program = options.mig_program,
          .host = options.mig_host,
          .configs_file = options.mig_configs,
          .run_dir = options.run_dir,
          .node_name = options.node_name,
          .withdrawn = options.mig_program.empty()
                           ? std::vector<std::string>()
                           : layouts::WithdrawnIn(remembered.state.assignment)};
}

telemetry::MeasurementsOptions MeasurementsOptionsOf(const AgentOptions& options,
                                                     const sys::Root& host) {
  return {.kubelet_dir = options.kubelet_dir,
          .runtime_sockets = RuntimeSockets(options, host),
          .hostname = options.node_name};
}

faults::HealthHandlerOptions HealthHandlerOptionsOf(const AgentOptions& options) {
  return {.journal = {.folder = options.state_dir, .boot_id = ReadBootId(options.boot_id_file)},
          .node = options.node_name};
}

}  // namespace kgpu::agent
