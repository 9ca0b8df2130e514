#include "src/cli/run/run_shell.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {

std::vector<std::string> ExecCommand(const NodeOptions& options, const run::RunInfo& run,
                                     const std::vector<std::string>& command, bool has_terminal) {
  std::vector<std::string> argv = {"kubectl"};
  for (const auto& [flag, value] :
       {std::pair("--kubeconfig", options.kubeconfig), std::pair("--context", options.context)}) {
    if (!value.empty()) {
      argv.insert(argv.end(), {flag, value});
    }
  }
  argv.insert(argv.end(),
              {"exec", has_terminal ? "-it" : "-i", "-n", run.space, run.pod, "-c", "main", "--"});
  if (command.empty()) {
    argv.insert(argv.end(),
                {"/bin/sh", "-c", "command -v bash >/dev/null && exec bash || exec sh"});
  }
  return Concat(std::move(argv), command);
}

std::string ExecLine(const NodeOptions& options, const run::RunInfo& run,
                     const std::vector<std::string>& command) {
  std::vector<std::string> words = ExecCommand(options, run, command, true);
  std::ranges::transform(words, words.begin(), ShellWord);
  return Join(words, " ");
}

std::string FindKubectl(const std::string& path) {
  for (const std::string_view folder : Split(path, ':')) {
    const std::string program = fmt::format("{}/kubectl", folder);
    std::error_code error;
    if (folder.starts_with('/') && std::filesystem::is_regular_file(program, error) &&
        access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return "";
}

StatusOr<int> RunInForeground(std::vector<std::string> argv) {
  const sys::RestoredSignalMask mask;
  ASSIGN_OR_RETURN(const UniqueFd signals, sys::TakeSignals({SIGINT, SIGQUIT}));
  ASSIGN_OR_RETURN(sys::ChildProcess child,
                   sys::ChildProcess::Spawn({.argv = std::move(argv),
                                             .environment = Environment(),
                                             .fds = {{STDIN_FILENO, STDIN_FILENO},
                                                     {STDOUT_FILENO, STDOUT_FILENO},
                                                     {STDERR_FILENO, STDERR_FILENO}}}));
  std::optional<sys::ExitState> exit;
  while (!exit) {
    pollfd polled = {.fd = child.pidfd(), .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait for kubectl");
    }
    exit = child.TryReap();
  }
  // Those that arrived meanwhile were meant for the child, and must not end us afterwards.
  while (sys::NextSignal(signals.get()) != 0) {
  }
  return exit->code ? *exit->code : 128 + exit->signal.value_or(0);
}

}  // namespace kgpu::cli
