// Runs another program to its end and keeps what it prints: no shell, nothing on standard input, a
// deadline and a limit of output.
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
  // "NAME=value"; the whole environment of the program.
  std::vector<std::string> environment{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
      "/sbin:/bin",
      "LC_ALL=C"};
  // What the program is to see as "/". Any other than "/" takes a chroot program and root's powers.
  std::string root = "/";
  std::chrono::milliseconds deadline{10'000};
  size_t output_limit = size_t{1} << 20;  // of each stream; what comes after it is dropped
  // Told of each line of both streams when it has come, dropped ones too; without its end, which is
  // "\n" or "\r", and cut off past 4 KiB. Empty lines are left out.
  std::function<void(std::string_view line)> on_line{};
  // For one that changes the host, with others that it starts: it leads a session of its own. At
  // its deadline, and when we are asked to end (SIGINT, SIGTERM, SIGHUP), they all are asked to end
  // (SIGTERM), made to (SIGKILL) `grace` later and awaited; the signal reaches us after that.
  bool leads_session = false;
  std::chrono::milliseconds grace{10'000};
  // Told when it has begun; after an error it is ended, and Run gives the error.
  std::function<Status(pid_t pid)> on_start{};
};

// A program of the host below `host`, which is "/" to it.
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
  // A program that ends badly is a result, not an error. Errors: NotFound (no such program),
  // PermissionDenied, DeadlineExceeded (it was killed), Cancelled (we were asked to end).
  virtual StatusOr<RunResult> Run(const RunRequest& request) = 0;
};

class RealRunner final : public ProgramRunner {
 public:
  StatusOr<RunResult> Run(const RunRequest& request) override;
};

}  // namespace kgpu::sys
