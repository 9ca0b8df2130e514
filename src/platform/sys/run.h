// Runs another program to its end and captures its output: no shell, no standard input, a deadline
// and an output limit.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/root.h"

namespace kgpu::sys {

struct RunRequest {
  std::vector<std::string> argv;  // argv[0] is a path below `root`; PATH is not searched
  // "NAME=value"; the program's whole environment.
  std::vector<std::string> environment{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
      "/sbin:/bin",
      "LC_ALL=C"};
  // The program's "/". Anything other than "/" requires a chroot program and root privileges.
  std::string root = "/";
  std::chrono::milliseconds deadline{10'000};
  size_t output_limit = size_t{1} << 20;  // per stream; the rest is dropped
  // Called for each line of both streams as it arrives, also for dropped ones; without its line end
  // ("\n" or "\r"), cut off after 4 KiB. Empty lines are skipped.
  std::function<void(std::string_view line)> on_line{};
  // For a program that changes the host and starts others: it leads its own session. At its
  // deadline, and when we get SIGINT, SIGTERM or SIGHUP, the session gets SIGTERM, after `grace`
  // SIGKILL, and is awaited; only then does the signal act on us.
  bool leads_session = false;
  std::chrono::milliseconds grace{10'000};
  // Called when the program has started; an error ends the program, and Run returns that error.
  std::function<Status(pid_t pid)> on_start{};
};

// A program of the host below `host`, which it sees as "/".
RunRequest RequestOf(const Root& host, std::vector<std::string> argv,
                     std::chrono::milliseconds deadline = RunRequest().deadline);

struct RunResult {
  ExitState exit;
  std::string out;
  std::string err;

  bool IsSuccess() const { return exit.code == 0; }
};

// For people: "exit code 1", "signal 9".
std::string Describe(const ExitState& exit);
// For people: "exit code 1: <last line the program printed>".
std::string Describe(const RunResult& result);

class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;
  // A program that fails is a result, not an error. Errors: NotFound (no such program),
  // PermissionDenied, DeadlineExceeded (it was killed), Cancelled (we were asked to stop).
  virtual StatusOr<RunResult> Run(const RunRequest& request) = 0;
};

class RealRunner final : public ProgramRunner {
 public:
  StatusOr<RunResult> Run(const RunRequest& request) override;
};

}  // namespace kgpu::sys
