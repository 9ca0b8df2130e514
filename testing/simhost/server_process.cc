#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/server.h"
#include "testing/simhost/settings.h"

namespace kgpu::simhost {
namespace {

constexpr int kStartMilliseconds = 30'000;
constexpr int kStopMilliseconds = 5'000;
constexpr int kReadyFd = 3;  // in the child

// posix_spawn's two structures, freed however we leave.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // A server must not keep the caller's terminal or pipes open.
  void SetStreams(const std::string& log_path, int ready_fd) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log_path.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, ready_fd, kReadyFd);
  }

  StatusOr<pid_t> Spawn(std::vector<std::string> words) const {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, argv[0], &actions_, &attributes_, argv.data(), environ);
    if (error != 0) {
      return ErrnoStatus(error, "start " + words[0]);
    }
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string LastLogLine(const std::string& folder) {
  const StatusOr<sys::Root> root = sys::Root::Open(folder);
  const StatusOr<std::string> text =
      root.ok() ? root->ReadFile(kLogFile) : StatusOr<std::string>(root.status());
  if (!text.ok()) {
    return "";
  }
  const std::string_view trimmed = Trim(*text);
  return Printable(trimmed.substr(trimmed.rfind('\n') + 1), 500);
}

// True when a byte arrived, false when the other end is gone or the time is up.
bool WaitForByte(int fd, int milliseconds) {
  pollfd waiting{fd, POLLIN, 0};
  char byte = 0;
  return poll(&waiting, 1, milliseconds) == 1 && read(fd, &byte, 1) == 1;
}

bool WaitForEnd(int pidfd, int milliseconds) {
  pollfd waiting{pidfd, POLLIN, 0};
  return poll(&waiting, 1, milliseconds) == 1;
}

}  // namespace

StatusOr<int> StartServer(std::vector<std::string> argv, const std::string& folder) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "pipe");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // dup2 onto itself would keep close-on-exec.
  if (theirs.get() == kReadyFd) {
    theirs.Reset(fcntl(theirs.get(), F_DUPFD_CLOEXEC, kReadyFd + 1));
  }
  SpawnPlan plan;
  plan.SetStreams(fmt::format("{}/{}", folder, kLogFile), theirs.get());
  argv.insert(argv.end(), {"--ready-fd", std::to_string(kReadyFd)});
  ASSIGN_OR_RETURN(const pid_t pid, plan.Spawn(std::move(argv)));
  theirs.Reset();
  if (!WaitForByte(ours.get(), kStartMilliseconds)) {
    return Unavailable("{}: the server did not start: {}", folder, LastLogLine(folder));
  }
  return pid;
}

StatusOr<int> StopServer(const std::string& folder) {
  const std::optional<pid_t> pid = LockHolder(folder);
  if (!pid) {
    return NotFound("{}: no server is running there", folder);
  }
  // A pidfd, so that a pid given to another process meanwhile is never signalled.
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (!pidfd.is_valid() || LockHolder(folder) != pid) {
    return NotFound("{}: the server has just exited", folder);
  }
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0 && errno != ESRCH) {
      return ErrnoStatus(errno, fmt::format("signal process {}", *pid));
    }
    if (WaitForEnd(pidfd.get(), kStopMilliseconds)) {
      return *pid;
    }
  }
  return DeadlineExceeded("{}: process {} does not exit", folder, *pid);
}

}  // namespace kgpu::simhost
