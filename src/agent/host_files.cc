#include "src/agent/host_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "src/agent/front.h"
#include "src/agent/part_options.h"
#include "src/container/inject/index.h"
#include "src/gpu/health/journal.h"
#include "src/node/cluster/cluster_node.h"
#include "src/node/layouts/mig_layouts.h"
#include "src/node/loans/ledger.h"
#include "src/node/loans/ledger_file.h"
#include "src/node/mig/record.h"
#include "src/node/mps/daemon_files.h"
#include "src/node/mps/paths.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::agent {
namespace {

constexpr std::string_view FileOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

constexpr std::string_view kAnyName = "*";
constexpr std::string_view kKgpuNames = "kgpu-*";
constexpr std::string_view kUsualKubelet = "/var/lib/kubelet";

struct OwnFolder {
  std::string path;
  // Names that agents make there; "a*" is every name that begins with "a".
  std::vector<std::string> names{};
  // Whether what else lies in it is to be named.
  bool is_ours = false;
  // Removed when nothing is left in it: agents create it where it is missing.
  bool goes_empty = false;
};

std::vector<OwnFolder> KubeletFolders(const std::string& kubelet) {
  return {{kubelet + "/device-plugins", {std::string(kKgpuNames)}},
          {kubelet + "/plugins_registry", {std::string(kKgpuNames)}}};
}

// A ledger with loans stays, and so do the files of lent slices: containers may have those GPUs,
// which the next agent must not lend.
bool LendsNothing(const sys::Root& host) {
  const std::string file = fmt::format("/var/lib/kgpu/{}", loans::kLedgerFile);
  const StatusOr<std::string> text = host.ReadFile(file);
  const StatusOr<loans::Ledger> ledger =
      text.ok() ? loans::ParseLedger(*text, file) : text.status();
  return ledger.ok() && ledger->loans().empty();
}

// Folders within others come first.
std::vector<OwnFolder> OwnFolders(const sys::Root& host) {
  std::vector<std::string> state = {fmt::format("{}*", health::kJournalFile),
                                    std::string(FileOf(mig::kRecordFile.path()))};
  std::vector<OwnFolder> folders;
  if (LendsNothing(host)) {
    state.emplace_back(loans::kLedgerFile);
    folders.push_back(
        {fmt::format("/var/lib/kgpu/{}", kLentFolder), {std::string(kAnyName)}, true, true});
  }
  const std::vector<OwnFolder> always = {
      {"/run/kgpu",
       {kSocketFile, kMemoryFile, kChoiceFile, cluster::kDecisionFile, layouts::kMigBegunFile,
        std::string(FileOf(inject::kInjectionIndexPath))},
       true,
       true},
      {"/run/cdi", {std::string(kKgpuNames)}, false, true},
      {"/var/run/cdi", {std::string(kKgpuNames)}, false, true},
      {fmt::format("/var/lib/kgpu/{}", kShareFolder), {std::string(kAnyName)}, true, true},
      {"/var/lib/kgpu/usage", {std::string(kAnyName)}, true, true},
      {"/var/lib/kgpu", std::move(state), true, true},
      // Programs of a daemon that still runs have files there.
      {"/dev/shm/kgpu-mps", {}, true, true},
  };
  folders.insert(folders.end(), always.begin(), always.end());
  for (OwnFolder& folder : KubeletFolders(std::string(kUsualKubelet))) {
    folders.push_back(std::move(folder));
  }
  return folders;
}

// An agent that was killed while it replaced a file has left ".NAME.ENDING".
bool IsOwnName(const OwnFolder& folder, std::string_view name) {
  const std::string_view bare = name.starts_with('.') ? name.substr(1) : name;
  return std::ranges::any_of(folder.names, [&](std::string_view own) {
    if (own.ends_with('*')) {
      own.remove_suffix(1);
      return name.starts_with(own) || bare.starts_with(own);
    }
    return name == own || (bare != name && bare.starts_with(fmt::format("{}.", own)));
  });
}

class Remover {
 public:
  Remover(const sys::Root& host, bool is_dry_run, HostFiles& files)
      : host_(host), is_dry_run_(is_dry_run), files_(files) {}

  Status Folder(const OwnFolder& folder) {
    const StatusOr<std::vector<std::string>> names = host_.ListDir(folder.path);
    if (names.status().code() == StatusCode::kNotFound) {
      return OkStatus();
    }
    RETURN_IF_ERROR(names.status());
    ASSIGN_OR_RETURN(const std::string real, host_.FollowLinks(folder.path));
    Status first;
    size_t left = 0;
    const size_t before = files_.removed.size();
    for (const std::string& name : *names) {
      const std::string path = fmt::format("{}/{}", folder.path, name);
      if (IsOwnName(folder, name)) {
        first.Update(Remove(fmt::format("{}/{}", real, name), path));
      } else if (std::ranges::find(files_.removed, path) == files_.removed.end()) {
        ++left;
        if (folder.is_ours) {
          files_.stays.push_back(path);
        }
      }
    }
    // One that others have left empty is theirs.
    const bool has_changed = folder.is_ours || files_.removed.size() > before;
    if (folder.goes_empty && has_changed && left == 0 && first.ok()) {
      first.Update(RemoveFolder(real, folder.path));
    }
    return first;
  }

 private:
  Status Remove(const std::string& real, const std::string& path) {
    // An engine makes a folder where it misses a file that it is to mount.
    if (!is_dry_run_ && unlink(real.c_str()) != 0 && errno != ENOENT &&
        (errno != EISDIR || rmdir(real.c_str()) != 0)) {
      return ErrnoStatus(errno, fmt::format("remove {}", real));
    }
    files_.removed.push_back(path);
    return OkStatus();
  }

  Status RemoveFolder(const std::string& real, std::string_view path) {
    if (!is_dry_run_ && rmdir(real.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("remove {}", real));
    }
    files_.removed.emplace_back(path);
    return OkStatus();
  }

  const sys::Root& host_;
  const bool is_dry_run_;
  HostFiles& files_;
};

// proc(5), PROC_PID_INIT_INO: the namespace in which every process of the host is seen.
bool SeesAllProcesses() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error) == "pid:[4026531836]";
}

// Whether a daemon of MPS, or a server that it has left, may still run in this folder.
bool MayBeUsed(const std::string& folder) {
  std::error_code error;
  const bool has_record =
      std::filesystem::exists(fmt::format("{}/{}", folder, mps::kRecordName), error);
  return mps::FindByRecord(folder).has_value() || (has_record && !SeesAllProcesses()) ||
         !mps::FindLeft(folder).empty();
}

// Pipes and logs of daemons that have ended. Containers could write there: no link is followed.
Status RemoveMpsFolders(const sys::Root& host, bool is_dry_run, HostFiles& files) {
  const std::string folder = fmt::format("/run/kgpu/{}", kMpsFolder);
  const StatusOr<std::vector<std::string>> devices = host.ListDir(folder);
  if (devices.status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  RETURN_IF_ERROR(devices.status());
  ASSIGN_OR_RETURN(const std::string real, host.FollowLinks(folder));
  const auto is_kept = [&](const std::string& device) {
    return !device::GpuUuid::Parse(device).ok() || MayBeUsed(fmt::format("{}/{}", real, device));
  };
  if (std::ranges::any_of(*devices, is_kept)) {
    return OkStatus();
  }
  if (!is_dry_run) {
    RETURN_IF_ERROR(mps::EmptyFolder(real));
    if (rmdir(real.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("remove {}", real));
    }
  }
  files.removed.push_back(folder);
  return OkStatus();
}

}  // namespace

std::vector<std::string> RunningMpsDaemons(const sys::Root& host) {
  const std::string folder = fmt::format("/run/kgpu/{}", kMpsFolder);
  const StatusOr<std::vector<std::string>> devices = host.ListDir(folder);
  const StatusOr<std::string> real = host.FollowLinks(folder);
  std::vector<std::string> running;
  if (!devices.ok() || !real.ok()) {
    return running;
  }
  for (const std::string& device : *devices) {
    const bool is_device = device::GpuUuid::Parse(device).ok();
    const auto daemon = is_device ? mps::FindByRecord(fmt::format("{}/{}", *real, device))
                                  : std::optional<mps::Found>();
    if (daemon) {
      running.push_back(fmt::format(
          "MPS daemon of {}, PID {}; to end it: echo quit | {} nvidia-cuda-mps-control", device,
          daemon->process.pid(), mps::PipeVariable(fmt::format("{}/{}", folder, device))));
    }
  }
  return running;
}

Status RemoveHostFiles(const sys::Root& host, const std::string& kubelet_dir, bool is_dry_run,
                       HostFiles& files) {
  files.running = RunningMpsDaemons(host);
  Remover remover(host, is_dry_run, files);
  Status first = RemoveMpsFolders(host, is_dry_run, files);
  for (const OwnFolder& folder : OwnFolders(host)) {
    first.Update(remover.Folder(folder));
  }
  if (kubelet_dir.empty()) {
    return first;
  }
  // By this process's path, not by the host's.
  ASSIGN_OR_RETURN(const sys::Root own, sys::Root::Open("/"));
  Remover kubelet(own, is_dry_run, files);
  for (const OwnFolder& folder : KubeletFolders(kubelet_dir)) {
    first.Update(kubelet.Folder(folder));
  }
  return first;
}

}  // namespace kgpu::agent
