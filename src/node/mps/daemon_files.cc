#include "src/node/mps/daemon_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/node/mps/paths.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/read_fd.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/selinux.h"
#include "src/platform/sys/session.h"

namespace kgpu::mps {
namespace {

constexpr off_t kLogLimit = off_t{1} << 20;
constexpr size_t kSmallFile = 4096;
// "nvidia-cuda-mps-control" and "-server": the kernel keeps 15 bytes. Source: proc(5), comm.
constexpr std::string_view kProcessName = "nvidia-cuda-mps";

Status MakeFolder(const std::string& path, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create {}", path));
  }
  // Not narrowed by the umask: programs of all users reach the daemon through it.
  if (chmod(path.c_str(), mode) != 0) {
    return ErrnoStatus(errno, fmt::format("set the mode of {}", path));
  }
  return OkStatus();
}

// A pipe or a link in its place must not hold us up.
StatusOr<std::string> ReadPlainFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.is_valid() || fstat(file.get(), &info) != 0) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition("{} is no file", path);
  }
  return sys::ReadAll(file.get(), kSmallFile);
}

bool IsOfMps(pid_t pid) {
  const std::optional<sys::ProcessStat> stat = sys::StatOf(pid);
  return stat && stat->name == kProcessName;
}

// In the unified hierarchy; empty: it has none. Source: cgroups(7), /proc/[pid]/cgroup.
std::string CgroupOf(const std::string& process) {
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  const StatusOr<std::string> text = root.ok()
                                         ? root->ReadFile(fmt::format("/proc/{}/cgroup", process))
                                         : StatusOr<std::string>(root.status());
  if (!text.ok()) {
    return "";
  }
  constexpr std::string_view kUnified = "0::";
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with(kUnified)) {
      return std::string(line.substr(kUnified.size()));
    }
  }
  return "";
}

class FolderSweep {
 public:
  // Closes `folder`.
  Status Empty(UniqueFd folder, unsigned depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(folder.get()), &closedir);
    if (entries == nullptr) {
      return ErrnoStatus(errno, "read a folder");
    }
    const int fd = folder.Release();
    Status result;
    while (const dirent* entry = readdir(entries.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") {
        continue;
      }
      if (left_ == 0) {
        return ResourceExhausted("more than {} entries", kMostEntries);
      }
      --left_;
      if (const Status removed = Remove(fd, name, depth); !removed.ok()) {
        result = removed;
      }
    }
    return result;
  }

 private:
  Status Remove(int folder, const std::string& name, unsigned depth) {
    if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
      return OkStatus();
    }
    if (errno != EISDIR && errno != EPERM) {
      return ErrnoStatus(errno, fmt::format("remove {}", Printable(name)));
    }
    UniqueFd below(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below.is_valid() || depth == 0) {
      return ErrnoStatus(below.is_valid() ? ELOOP : errno,
                         fmt::format("remove {}", Printable(name)));
    }
    RETURN_IF_ERROR(Empty(std::move(below), depth - 1));
    return unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0
               ? OkStatus()
               : ErrnoStatus(errno, fmt::format("remove {}", Printable(name)));
  }

  static constexpr unsigned kMostEntries = 10'000;
  unsigned left_ = kMostEntries;
};

}  // namespace

Status EmptyFolder(const std::string& path) {
  constexpr unsigned kDepth = 16;
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  return FolderSweep().Empty(std::move(folder), kDepth);
}

std::string PipeVariable(const std::string& folder) {
  return fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/{}", folder, kPipeFolder);
}

Status MakeFolders(const std::string& folder, bool has_selinux) {
  constexpr mode_t kOpen = 0755;
  constexpr mode_t kOwn = 0700;
  const std::string pipe = fmt::format("{}/{}", folder, kPipeFolder);
  RETURN_IF_ERROR(MakeFolder(folder, kOpen));
  RETURN_IF_ERROR(MakeFolder(pipe, kOpen));
  // What is made in it has the same label.
  RETURN_IF_ERROR(has_selinux ? sys::LabelForContainers(pipe) : OkStatus());
  return MakeFolder(fmt::format("{}/{}", folder, kLogFolder), kOwn);
}

Status MoveToCgroup(const std::string& cgroup, pid_t pid) {
  if (cgroup.empty()) {
    return OkStatus();
  }
  if (mkdir(cgroup.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, fmt::format("create {}", cgroup));
  }
  const std::string path = fmt::format("{}/cgroup.procs", cgroup);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  RETURN_IF_ERROR(sys::WriteAll(file.get(), fmt::format("{}\n", pid)));
  const std::string ours = CgroupOf("self");
  const std::string its = CgroupOf(fmt::format("{}", pid));
  const bool is_below = its == ours || its.starts_with(ours.ends_with('/') ? ours : ours + "/");
  if (is_below && !ours.empty()) {
    return FailedPrecondition("{} is in our own cgroup: {}", cgroup, its);
  }
  return OkStatus();
}

Status WriteRecord(const std::string& folder, const Record& record) {
  return sys::WriteFileAtomically(fmt::format("{}/{}", folder, kRecordName), RecordText(record),
                                  0600, sys::Durability::kMemory);
}

void RemoveRecord(const std::string& folder) {
  (void)unlink(fmt::format("{}/{}", folder, kRecordName).c_str());
}

std::optional<Found> FindByRecord(const std::string& folder) {
  const StatusOr<std::string> text = ReadPlainFile(fmt::format("{}/{}", folder, kRecordName));
  const StatusOr<Record> record = text.ok() ? ParseRecord(*text) : StatusOr<Record>(text.status());
  if (!record.ok()) {
    return std::nullopt;
  }
  StatusOr<LastingProcess> process =
      LastingProcess::Find(static_cast<pid_t>(record->pid), record->start_time);
  // A record is no proof: what it names may be killed.
  if (!process.ok() || !IsOfMps(process->pid())) {
    return std::nullopt;
  }
  return Found{.process = *std::move(process), .settings = record->settings};
}

std::optional<LastingProcess> FindByPidFile(const std::string& folder) {
  const StatusOr<std::string> text =
      ReadPlainFile(fmt::format("{}/{}/nvidia-cuda-mps-control.pid", folder, kPipeFolder));
  const auto pid = text.ok() ? ParsePid(Trim(*text)) : std::nullopt;
  return pid ? FindOfMps(static_cast<pid_t>(*pid), folder) : std::nullopt;
}

std::optional<LastingProcess> FindOfMps(pid_t pid, const std::string& folder) {
  // Pinned before it is looked at.
  StatusOr<LastingProcess> process = LastingProcess::Find(pid);
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  if (!process.ok() || !root.ok()) {
    return std::nullopt;
  }
  const StatusOr<std::string> environment = root->ReadFile(fmt::format("/proc/{}/environ", pid));
  if (!IsOfMps(pid) || !environment.ok() ||
      std::ranges::count(Split(*environment, '\0'), PipeVariable(folder)) == 0) {
    return std::nullopt;
  }
  return *std::move(process);
}

std::vector<LastingProcess> FindInSession(pid_t leader) {
  std::vector<LastingProcess> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto number = ParseUint(entry->path().filename().string());
    const pid_t pid = static_cast<pid_t>(number.value_or(0));
    if (pid <= 0) {
      continue;
    }
    const std::optional<sys::ProcessStat> stat = sys::StatOf(pid);
    if (!stat || stat->name != kProcessName || stat->session != leader) {
      continue;
    }
    if (auto process = LastingProcess::Find(pid, stat->start); process.ok()) {
      found.push_back(*std::move(process));
    }
  }
  return found;
}

void ShortenLogs(const std::string& folder) {
  for (const char* name : {"control.log", "server.log"}) {
    const std::string path = fmt::format("{}/{}/{}", folder, kLogFolder, name);
    struct stat info = {};
    const bool is_long =
        lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > kLogLimit;
    if (is_long && truncate(path.c_str(), 0) != 0) {
      KGPU_LOG(kWarning, "MPS log not shortened", {"file", path},
               {"problem", Message(ErrnoStatus(errno, "truncate"))});
    }
  }
}

}  // namespace kgpu::mps
