#include "src/node/mps/daemon_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
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

namespace kgpu::mps {
namespace {

constexpr off_t kLogLimit = off_t{1} << 20;
constexpr size_t kSmallFile = 4096;

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

// Source: container-selinux, container_file_t.
Status LabelForContainers(const std::string& path) {
  constexpr std::string_view kLabel = "system_u:object_r:container_file_t:s0";
  // With its end, as in the kernel's own labels.
  if (lsetxattr(path.c_str(), "security.selinux", kLabel.data(), kLabel.size() + 1, 0) != 0) {
    return ErrnoStatus(errno, fmt::format("label {} as {}", path, kLabel));
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

}  // namespace

Status MakeFolders(const std::string& folder, bool has_selinux) {
  constexpr mode_t kOpen = 0755;
  constexpr mode_t kOwn = 0700;
  const std::string pipe = fmt::format("{}/{}", folder, kPipeFolder);
  RETURN_IF_ERROR(MakeFolder(folder, kOpen));
  RETURN_IF_ERROR(MakeFolder(pipe, kOpen));
  // What is made in it has the same label.
  RETURN_IF_ERROR(has_selinux ? LabelForContainers(pipe) : OkStatus());
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
  return sys::WriteAll(file.get(), fmt::format("{}\n", pid));
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
  if (!process.ok()) {
    return std::nullopt;
  }
  return Found{.process = *std::move(process), .settings = record->settings};
}

std::optional<LastingProcess> FindByPidFile(const std::string& folder) {
  const StatusOr<std::string> text =
      ReadPlainFile(fmt::format("{}/{}/nvidia-cuda-mps-control.pid", folder, kPipeFolder));
  constexpr uint64_t kMostPid = std::numeric_limits<int32_t>::max();
  const auto pid = text.ok() ? ParseUint(Trim(*text)) : std::nullopt;
  if (!pid || *pid == 0 || *pid > kMostPid) {
    return std::nullopt;
  }
  return FindOfMps(static_cast<pid_t>(*pid), folder);
}

std::optional<LastingProcess> FindOfMps(pid_t pid, const std::string& folder) {
  // Pinned before it is looked at.
  StatusOr<LastingProcess> process = LastingProcess::Find(pid);
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  if (!process.ok() || !root.ok()) {
    return std::nullopt;
  }
  const StatusOr<std::string> name = root->ReadFile(fmt::format("/proc/{}/comm", pid), kSmallFile);
  const StatusOr<std::string> environment = root->ReadFile(fmt::format("/proc/{}/environ", pid));
  const std::string entry = fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/{}", folder, kPipeFolder);
  if (!name.ok() || Trim(*name) != "nvidia-cuda-mps" || !environment.ok() ||
      std::ranges::count(Split(*environment, '\0'), entry) == 0) {
    return std::nullopt;
  }
  return *std::move(process);
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
