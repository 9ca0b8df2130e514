#include "src/agent/privileges.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::agent {
namespace {

// A folder of the host that a container needs. `name`: of the volume in the manifest.
struct Folder {
  std::string_view name;
  std::string_view path;  // on the host
  bool is_written;
  Purpose purpose;
  std::string_view effect;  // of its absence
};

// As deploy/manifests has them.
constexpr std::array<Folder, 10> kFolders = {{
    {"dev", "/dev", false, Purpose::kDriver, "the GPUs' device nodes are not found"},
    {"proc", "/proc", false, Purpose::kDriver,
     "the driver's version, MIG capabilities and processes are not found"},
    {"sys", "/sys", false, Purpose::kDriver, "GPUs on the PCI bus are not found"},
    {"usr", "/usr", false, Purpose::kDriver, "the driver's libraries are not found"},
    {"etc", "/etc", false, Purpose::kDriver, "the index of the driver's libraries is not found"},
    {"kubelet", "/var/lib/kubelet", true, Purpose::kKubelet, "the kubelet gets no GPUs"},
    {"run", "/run", true, Purpose::kCdi,
     "no CDI specs, no connection to the container runtime, no kgpu status"},
    {"state", "/var/lib/kgpu", true, Purpose::kOther,
     "health and usage are forgotten when the pod ends"},
    {"boot", "/boot", false, Purpose::kOther,
     "node features do not include the kernel's configuration"},
    {"pod-logs", "/var/log/pods", false, Purpose::kOther,
     "pods that the container runtime does not name have no names in metrics and usage"},
}};

const Folder& FolderOf(std::string_view name) {
  return *std::ranges::find(kFolders, name, &Folder::name);
}

// Asks as access(2), which consults the device cgroup like open(2) does, but never the driver: it
// may hang. 0, or the errno.
int AccessError(const sys::Root& root, const std::string& path, int mode) {
  const int fd = root.TryOpen(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) {
    return -fd;
  }
  const UniqueFd file(fd);
  return access(fmt::format("/proc/self/fd/{}", fd).c_str(), mode) == 0 ? 0 : errno;
}

bool IsGpuNode(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name == "nvidiactl" ||
         (name.starts_with(kPrefix) && ParseUint(name.substr(kPrefix.size())).has_value());
}

void ReadNodes(const sys::Root& root, PrivilegeFacts& facts) {
  for (const std::string& name : root.ListDir("dev").value_or(std::vector<std::string>())) {
    if (!IsGpuNode(name)) {
      continue;
    }
    const int error = AccessError(root, "dev/" + name, R_OK | W_OK);
    if (error == EPERM && facts.refused_node.empty()) {
      facts.refused_node = "/dev/" + name;
    } else if (error == EACCES && facts.forbidden_node.empty()) {
      facts.forbidden_node = "/dev/" + name;
    }
  }
}

// A container sees a running host below its root, or nothing: what it sees is missing then.
Surroundings SurroundingsOf(const sys::Root& host) {
  if (host.path() == "/") {
    return Surroundings::kHost;
  }
  return IsRunningHost(host) || !host.Stat("proc").ok() ? Surroundings::kContainer
                                                        : Surroundings::kFolder;
}

// Where this process sees the folder, and of the kubelet the part that is written.
std::string WrittenPath(const Folder& folder, const sys::Root& host, const AgentOptions& options) {
  if (folder.name == "kubelet") {
    return options.kubelet_dir + "/device-plugins";
  }
  return folder.name == "state" ? options.state_dir : host.At(folder.path);
}

// Whether `path`, or the deepest folder above it that exists, is on a file system that is mounted
// read-only.
bool IsReadOnly(std::string path) {
  while (!path.empty() && access(path.c_str(), F_OK) != 0) {
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  return !path.empty() && access(path.c_str(), W_OK) != 0 && errno == EROFS;
}

void ReadFolders(const sys::Root& host, const AgentOptions& options, PrivilegeFacts& facts) {
  for (const Folder& folder : kFolders) {
    const std::string path = folder.name == "kubelet" ? options.kubelet_dir
                             : folder.name == "state" ? options.state_dir
                                                      : host.At(folder.path);
    if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
      facts.missing.emplace_back(folder.name);
    } else if (folder.is_written && IsReadOnly(WrittenPath(folder, host, options))) {
      facts.read_only.emplace_back(folder.name);
    }
  }
}

MissingPrivilege MissingFolder(const Folder& folder) {
  return {.purpose = folder.purpose,
          .what = fmt::format("the host's {} is not mounted", folder.path),
          .effect = std::string(folder.effect),
          .fix = fmt::format("add to the pod the volume {} (hostPath {}) and its volumeMount",
                             folder.name, folder.path)};
}

MissingPrivilege ReadOnlyFolder(const Folder& folder) {
  return {.purpose = folder.purpose,
          .what = fmt::format("the host's {} is read-only", folder.path),
          .effect = std::string(folder.effect),
          .fix = fmt::format("remove readOnly from the volumeMount {}", folder.name)};
}

constexpr std::string_view kNoGpu = "no GPU can be used";

void AddRoot(const PrivilegeFacts& facts, MissingPrivileges& missing) {
  if (facts.is_root || facts.surroundings == Surroundings::kFolder) {
    return;
  }
  const std::string fix = facts.surroundings == Surroundings::kContainer
                              ? "set securityContext.runAsUser: 0"
                              : "run the agent as root";
  missing.push_back({.purpose = Purpose::kKubelet,
                     .what = "the agent does not run as root",
                     .effect = "the sockets of the kubelet and the container runtime are root's",
                     .fix = fix});
}

void AddNodes(const PrivilegeFacts& facts, MissingPrivileges& missing) {
  const bool is_container = facts.surroundings == Surroundings::kContainer;
  if (!facts.refused_node.empty()) {
    missing.push_back({.purpose = Purpose::kDriver,
                       .what = fmt::format("the device cgroup refuses {}", facts.refused_node),
                       .effect = std::string(kNoGpu),
                       .fix = is_container
                                  ? "set securityContext.privileged: true"
                                  : "remove DevicePolicy= and DeviceAllow= from the agent's unit"});
  } else if (!facts.forbidden_node.empty() && facts.is_root) {
    missing.push_back(
        {.purpose = Purpose::kDriver,
         .what = fmt::format("{} may not be opened, by root either", facts.forbidden_node),
         .effect = std::string(kNoGpu),
         .fix = is_container ? "set securityContext.privileged: true"
                             : "ausearch -m avc shows what SELinux refuses"});
  }
  if (!facts.has_own_nodes) {
    missing.push_back({.purpose = Purpose::kDriver,
                       .what = "the container's /dev has no NVIDIA device nodes",
                       .effect = std::string(kNoGpu),
                       .fix = "add the volumeMount {name: dev, mountPath: /dev}"});
  }
}

}  // namespace

bool IsRunningHost(const sys::Root& host) {
  const auto proc = host.OpenFile("proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct statfs status = {};
  return proc.ok() && fstatfs(proc->get(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

PrivilegeFacts ReadPrivilegeFacts(const sys::Root& host, const AgentOptions& options) {
  PrivilegeFacts facts;
  facts.surroundings = SurroundingsOf(host);
  facts.is_root = geteuid() == 0;
  const StatusOr<sys::Root> own = sys::Root::Open("/");
  const bool is_container = facts.surroundings == Surroundings::kContainer;
  // NVML opens nodes in this process's /dev, the simulated one in that of its folder.
  ReadNodes(is_container && own.ok() ? *own : host, facts);
  if (!is_container) {
    return facts;
  }
  ReadFolders(host, options, facts);
  if (own.ok()) {
    facts.has_own_nodes = own->Exists("dev/nvidiactl") || !host.Exists("dev/nvidiactl");
  }
  // In a process namespace of its own, a process has another number than the host's procfs shows.
  const StatusOr<std::string> self = host.ReadLink("proc/self");
  facts.sees_host_processes = !self.ok() || *self == std::to_string(getpid());
  return facts;
}

MissingPrivileges FindMissingPrivileges(const PrivilegeFacts& facts) {
  MissingPrivileges missing;
  AddRoot(facts, missing);
  AddNodes(facts, missing);
  for (const std::string& name : facts.missing) {
    missing.push_back(MissingFolder(FolderOf(name)));
  }
  for (const std::string& name : facts.read_only) {
    missing.push_back(ReadOnlyFolder(FolderOf(name)));
  }
  if (!facts.sees_host_processes) {
    missing.push_back({.purpose = Purpose::kOther,
                       .what = "the pod does not share the host's process namespace",
                       .effect = "no metrics and no usage by container and process",
                       .fix = "set hostPID: true in the pod's spec"});
  }
  return missing;
}

std::string ToString(const MissingPrivilege& missing) {
  return fmt::format("{}: {}: {}", missing.what, missing.effect, missing.fix);
}

std::string Blame(const MissingPrivileges& missing, Purpose purpose, std::string_view otherwise) {
  const auto found = std::ranges::find(missing, purpose, &MissingPrivilege::purpose);
  return found == missing.end() ? std::string(otherwise) : ToString(*found);
}

Status ExplainByPrivileges(const Status& status, const sys::Root& host,
                           const AgentOptions& options) {
  if (status.ok() || status.code() == StatusCode::kAlreadyExists) {
    return status;
  }
  std::string text(Message(status));
  for (const MissingPrivilege& missing : FindMissingPrivileges(ReadPrivilegeFacts(host, options))) {
    text += fmt::format("\n{}", ToString(missing));
  }
  return MakeStatus(status.code(), text);
}

}  // namespace kgpu::agent
