// Calls of a package manager's programs: their environment, deadlines, and errors.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::packages {

// Long, since a module may be compiled, and another package manager may have to finish first.
inline constexpr std::chrono::seconds kLockWait{600};
inline constexpr std::chrono::seconds kChangeDeadline{std::chrono::minutes{30} + kLockWait};
inline constexpr std::chrono::seconds kQueryDeadline{120};

// Why package managers cannot work below a root, and the commands that fix it.
struct RootProblem {
  std::string message;
  std::vector<std::string> commands;
};
// Checks a root that is not ours: without /proc and /dev, package scripts fail half-way, after many
// minutes. Nothing: package managers can work there.
std::optional<RootProblem> FindRootProblem(const sys::Root& host);

// Runs programs of one host. Borrows both arguments.
class Calls {
 public:
  Calls(const sys::Root& host, sys::ProgramRunner& runner, std::vector<std::string> environment)
      : host_(host), runner_(runner), environment_(std::move(environment)) {}

  // Whether package managers can work below this root. Errors: FailedPrecondition (if not).
  Status CheckRoot() const;

  // As sys::ProgramRunner::Run.
  StatusOr<sys::RunResult> Run(std::vector<std::string> argv, std::chrono::seconds deadline) const;
  // Returns what it printed. Errors: FailureOf with `action`.
  StatusOr<std::string> Do(std::string_view action, std::vector<std::string> argv,
                           std::chrono::seconds deadline) const;
  StatusOr<std::string> Query(std::vector<std::string> argv) const {
    return Do("list installed packages", std::move(argv), kQueryDeadline);
  }

  const sys::Root& host() const { return host_; }

 private:
  const sys::Root& host_;
  sys::ProgramRunner& runner_;
  std::vector<std::string> environment_;
};

// Why a program failed: its path, the action and the end of its output. Unavailable if another
// package manager holds the lock, else FailedPrecondition.
Status FailureOf(std::string_view program, std::string_view action, const sys::RunResult& result);

// Whether zypper succeeded: its exit code may also say that a restart is needed, or that it could
// not reach a repository that was not needed. Source: zypper(8), "EXIT CODES".
bool IsZypperContent(const sys::RunResult& result);

// The end of a program's output, for people: its last lines, joined by "; ".
std::string TailOf(std::string_view text);

// FailureOf with the compiler's errors, from the log that DKMS names. Call it before anything is
// reverted, since the log is removed with the package.
Status InstallFailure(const sys::Root& host, std::string_view program,
                      const std::vector<std::string>& names, const sys::RunResult& result);

// Errors: InvalidArgument (a name is empty, an option, a pattern, or has blanks).
Status CheckNames(const std::vector<std::string>& names);

}  // namespace kgpu::packages
