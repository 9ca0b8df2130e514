// Calls of a package manager's programs: their environment, deadlines, and what went wrong.
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

// A module may be compiled inside, and another package manager may have to be waited for first.
inline constexpr std::chrono::seconds kLockWait{600};
inline constexpr std::chrono::seconds kChangeDeadline{std::chrono::minutes{30} + kLockWait};
inline constexpr std::chrono::seconds kQueryDeadline{120};

// Why package managers cannot work below a root, and the commands that change that.
struct RootProblem {
  std::string message;
  std::vector<std::string> commands;
};
// Of a root that is not ours: without /proc and /dev scripts of packages fail half-way, after many
// minutes. Nothing: they can work.
std::optional<RootProblem> FindRootProblem(const sys::Root& host);

// Runs programs of one host. Borrows both.
class Calls {
 public:
  Calls(const sys::Root& host, sys::ProgramRunner& runner, std::vector<std::string> environment)
      : host_(host), runner_(runner), environment_(std::move(environment)) {}

  // That package managers can work below this root. Errors: FailedPrecondition (FindRootProblem).
  Status CheckRoot() const;

  // As sys::ProgramRunner::Run.
  StatusOr<sys::RunResult> Run(std::vector<std::string> argv, std::chrono::seconds deadline) const;
  // What it printed. Errors: FailureOf with `action`.
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

// Why a program ended badly: its path, what it was to do and the end of what it printed.
// Unavailable when another one has the lock, else FailedPrecondition.
Status FailureOf(std::string_view program, std::string_view action, const sys::RunResult& result);

// Whether zypper did what it was asked to: it may say besides that a restart is asked for, or that
// a repository was not reached that was not needed. Source: zypper(8), "EXIT CODES".
bool IsZypperContent(const sys::RunResult& result);

// The end of what a program printed, for people: its last lines, joined by "; ".
std::string TailOf(std::string_view text);

// FailureOf with what the compiler said, of the log that DKMS names. Read before anything is taken
// back, as the log goes with the package.
Status InstallFailure(const sys::Root& host, std::string_view program,
                      const std::vector<std::string>& names, const sys::RunResult& result);

// Errors: InvalidArgument (empty, an option, a pattern, or with blanks).
Status CheckNames(const std::vector<std::string>& names);

}  // namespace kgpu::packages
