#include "src/platform/sys/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::sys {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // posix_spawn does not write to them
  }
  pointers.push_back(nullptr);
  return pointers;
}

// The descriptors of the child. dup2 clears close-on-exec, also when both numbers are the same
// (glibc 2.29 and later), so that exactly the listed ones survive exec.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  int Fill(const std::vector<std::pair<int, int>>& fds) {
    int error = 0;
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) {
      if (std::ranges::none_of(fds, [&](const auto& fd) { return fd.second == standard; })) {
        error |= posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
      }
    }
    int last = STDERR_FILENO;
    for (const auto& [ours, theirs] : fds) {
      error |= posix_spawn_file_actions_adddup2(&actions_, ours, theirs);
      last = std::max(last, theirs);
    }
    // Ours are all close-on-exec; this closes what our own parent may have left open in us.
    error |= posix_spawn_file_actions_addclosefrom_np(&actions_, last + 1);
    return error;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// A child starts with no signal blocked or ignored, whatever our main has blocked.
class Attributes {
 public:
  explicit Attributes(const SpawnOptions& options) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    flags |= options.leads_session ? POSIX_SPAWN_SETSID : 0;
    flags |= options.leads_group ? POSIX_SPAWN_SETPGROUP : 0;  // 0, the default: its own
    posix_spawnattr_setflags(&attributes_, static_cast<int16_t>(flags));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

ExitState StateOf(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return {.code = info.si_status, .signal = std::nullopt};
  }
  return {.code = std::nullopt, .signal = info.si_status};
}

}  // namespace

StatusOr<ChildProcess> ChildProcess::Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) {
    return InvalidArgument("spawn: no program given");
  }
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> environment = Pointers(options.environment);
  FileActions actions;
  const Attributes attributes(options);
  pid_t pid = -1;
  int error = actions.Fill(options.fds);
  if (error == 0) {
    error = posix_spawn(&pid, argv[0], actions.get(), attributes.get(), argv.data(),
                        environment.data());
  }
  if (error != 0) {
    return ErrnoStatus(error, fmt::format("start {}", options.argv[0]));
  }
  // The child cannot be reaped by anybody else before this: its pid is still its own.
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.is_valid()) {
    const int cause = errno;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
    return ErrnoStatus(cause, fmt::format("watch {}", options.argv[0]));
  }
  return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::~ChildProcess() {
  if (pidfd_.is_valid() && !TryReap()) {
    (void)Kill();
    (void)TryReap();
  }
}

Status ChildProcess::Kill() {
  if (exit_state_) {
    return OkStatus();
  }
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("kill process {}", pid_));
  }
  return OkStatus();
}

Status ChildProcess::KillGroup() {
  if (exit_state_) {
    return OkStatus();
  }
  if (kill(-pid_, SIGKILL) != 0 && errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("kill process group {}", pid_));
  }
  return OkStatus();
}

std::optional<ExitState> ChildProcess::TryReap() {
  if (exit_state_) {
    return exit_state_;
  }
  siginfo_t info{};
  const auto id = static_cast<id_t>(pidfd_.get());
  if (waitid(P_PIDFD, id, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
    exit_state_ = StateOf(info);
  }
  return exit_state_;
}

}  // namespace kgpu::sys
