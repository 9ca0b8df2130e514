#include "src/cli/fn/fn_daemons.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/read_fd.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::cli {
namespace {

using std::chrono::milliseconds;

// A shell leaves it to init: a child of ours would end with us.
constexpr const char* kDetach = R"(log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!)";
constexpr milliseconds kLook{50};
constexpr size_t kMaxShellOutput = size_t{4} << 10;  // the shell prints a number

std::string LastLines(const std::string& path) {
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  const StatusOr<std::string> text = root.ok() ? root->ReadFile(path) : root.status();
  constexpr size_t kShown = 800;
  return text.ok() ? text->substr(text->size() - std::min(text->size(), kShown)) : "";
}

UniqueFd OpenProcess(pid_t process) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

bool HasEnded(const UniqueFd& pidfd, milliseconds limit) {
  pollfd polled = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return !pidfd.is_valid() || poll(&polled, 1, static_cast<int>(limit.count())) == 1;
}

}  // namespace

StatusOr<pid_t> StartDaemon(const std::vector<std::string>& argv, const std::string& log) {
  ASSIGN_OR_RETURN(sys::Pipe pipe, sys::MakePipe());
  std::vector<std::string> shell = {"/bin/sh", "-c", kDetach, "sh", log};
  shell.insert(shell.end(), argv.begin(), argv.end());
  ASSIGN_OR_RETURN(sys::ChildProcess child,
                   sys::ChildProcess::Spawn({.argv = std::move(shell),
                                             .environment = Environment(),
                                             .fds = {{pipe.write.get(), STDOUT_FILENO}},
                                             .leads_session = true}));
  pipe.write.Reset();
  ASSIGN_OR_RETURN(const std::string text, sys::ReadAll(pipe.read.get(), kMaxShellOutput));
  // The shell has written its only line, and ends.
  constexpr milliseconds kShellEnds{10'000};
  pollfd ended = {.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  (void)poll(&ended, 1, static_cast<int>(kShellEnds.count()));
  const std::optional<uint64_t> pid = ParseUint(Trim(text));
  if (!pid || *pid == 0) {
    return Internal("{}: not started", argv.front());
  }
  return static_cast<pid_t>(*pid);
}

Status AwaitSocket(const std::string& socket, pid_t daemon, const std::string& log,
                   milliseconds limit) {
  const UniqueFd pidfd = OpenProcess(daemon);
  const auto until = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < until) {
    if (sys::IsListening(socket).value_or(false)) {
      return OkStatus();
    }
    if (HasEnded(pidfd, kLook)) {
      return Unavailable("{}: the daemon ended at once: {}", socket, Trim(LastLines(log)));
    }
  }
  return Unavailable("{}: nobody answers after {} s: see {}", socket, limit.count() / 1000, log);
}

StatusOr<pid_t> ListenerOf(const std::string& socket) {
  const StatusOr<UniqueFd> connected = sys::ConnectUnix(socket);
  if (!connected.ok()) {
    const StatusCode code = connected.status().code();
    const bool is_nobody = code == StatusCode::kNotFound || code == StatusCode::kUnavailable;
    return is_nobody ? StatusOr<pid_t>(0) : connected.status();
  }
  ASSIGN_OR_RETURN(const ucred peer, sys::PeerOf(connected->get()));
  return peer.pid;
}

Status EndProcess(pid_t process, milliseconds limit) {
  const UniqueFd pidfd = OpenProcess(process);
  if (!pidfd.is_valid()) {
    return OkStatus();
  }
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0) != 0 && errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("end process {}", process));
  }
  if (!HasEnded(pidfd, limit)) {
    return Unavailable("process {}: has not ended after {} s", process, limit.count() / 1000);
  }
  return OkStatus();
}

}  // namespace kgpu::cli
