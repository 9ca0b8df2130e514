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
  return OwnFolder(path, mode);
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

StatusOr<Record> ReadRecord(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadPlainFile(fmt::format("{}/{}", folder, kRecordName)));
  return ParseRecord(text);
}

bool IsOfMps(pid_t pid) {
  const std::optional<sys::ProcessStat> stat = sys::StatOf(pid);
  return stat && stat->name == kProcessName;
}

// The session of the record's daemon; 0: none. As long as it has a process, no other one gets its
// number.
pid_t RecordedSession(const std::string& folder) {
  const StatusOr<Record> record = ReadRecord(folder);
  if (!record.ok()) {
    return 0;
  }
  const pid_t leader = static_cast<pid_t>(record->pid);
  const std::optional<sys::ProcessStat> stat = sys::StatOf(leader);
  return stat && stat->start != record->start_time ? 0 : leader;
}

bool HasFolderInEnvironment(pid_t pid, const std::string& folder) {
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  const StatusOr<std::string> environment =
      root.ok() ? root->ReadFile(fmt::format("/proc/{}/environ", pid))
                : StatusOr<std::string>(root.status());
  return environment.ok() &&
         std::ranges::count(Split(*environment, '\0'), PipeVariable(folder)) > 0;
}

bool IsLeft(const sys::ProcessStat& process, pid_t session, const std::string& folder) {
  if (session > 0 && process.session == session) {
    return true;
  }
  // Of another device, probably: reading the environment of a server that hangs in the driver may
  // hang, too.
  if (process.session != process.pid) {
    const std::optional<sys::ProcessStat> leader = sys::StatOf(process.session);
    if (leader && leader->state != 'Z') {
      return false;
    }
  }
  return HasFolderInEnvironment(process.pid, folder);
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
  explicit FolderSweep(UniqueFd top) : top_(std::move(top)) {}

  Status Empty() {
    Status result;
    do {
      has_moved_ = false;
      UniqueFd folder(openat(top_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!folder.is_valid()) {
        return ErrnoStatus(errno, "open a folder");
      }
      result = Empty(std::move(folder), kMostDepth);
    } while (has_moved_ && left_ > 0);
    return result;
  }

 private:
  // Closes `folder`.
  Status Empty(UniqueFd folder, unsigned depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(folder.get()), &closedir);
    if (entries == nullptr) {
      return ErrnoStatus(errno, "read a folder");
    }
    const int fd = folder.Release();
    Status result;
    while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe): ours
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

  Status Remove(int folder, const std::string& name, unsigned depth) {
    if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
      return OkStatus();
    }
    if (errno != EISDIR && errno != EPERM) {
      return ErrnoStatus(errno, fmt::format("remove {}", Printable(name)));
    }
    if (depth == 0) {
      return MoveUp(folder, name);
    }
    UniqueFd below(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below.is_valid()) {
      return ErrnoStatus(errno, fmt::format("remove {}", Printable(name)));
    }
    RETURN_IF_ERROR(Empty(std::move(below), depth - 1));
    return unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0
               ? OkStatus()
               : ErrnoStatus(errno, fmt::format("remove {}", Printable(name)));
  }

  // Each level takes a descriptor, and containers choose the depth: what is deeper is emptied from
  // the top in another round.
  Status MoveUp(int folder, const std::string& name) {
    const std::string moved = fmt::format(".deep-{}", left_);
    if (renameat(folder, name.c_str(), top_.get(), moved.c_str()) != 0) {
      return ErrnoStatus(errno, fmt::format("move {}", Printable(name)));
    }
    has_moved_ = true;
    return OkStatus();
  }

  static constexpr unsigned kMostEntries = 10'000;
  static constexpr unsigned kMostDepth = 16;
  const UniqueFd top_;
  unsigned left_ = kMostEntries;
  bool has_moved_ = false;
};

}  // namespace

Status OwnFolder(const std::string& path, mode_t mode) {
  const UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!folder.is_valid() || fstat(folder.get(), &info) != 0) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  if (info.st_uid != geteuid() && fchown(folder.get(), geteuid(), getegid()) != 0) {
    return ErrnoStatus(errno, fmt::format("take {} from user {}", path, info.st_uid));
  }
  if (fchmod(folder.get(), mode) != 0) {
    return ErrnoStatus(errno, fmt::format("set the mode of {}", path));
  }
  return OkStatus();
}

Status EmptyFolder(const std::string& path) {
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  return FolderSweep(std::move(folder)).Empty();
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
  const StatusOr<Record> record = ReadRecord(folder);
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

std::vector<LastingProcess> FindLeft(const std::string& folder) {
  constexpr size_t kMostLeft = 64;
  const pid_t session = RecordedSession(folder);
  std::vector<LastingProcess> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end;
       !error && entry != end && found.size() < kMostLeft; entry.increment(error)) {
    const auto number = ParseUint(entry->path().filename().string());
    const pid_t pid = static_cast<pid_t>(number.value_or(0));
    if (pid <= 0) {
      continue;
    }
    const std::optional<sys::ProcessStat> stat = sys::StatOf(pid);
    if (!stat || stat->name != kProcessName || !IsLeft(*stat, session, folder)) {
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
