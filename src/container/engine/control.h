// Makes a running engine load its configuration.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

class EngineControl {
 public:
  virtual ~EngineControl() = default;
  // Errors of all: FailedPrecondition (no known way here; the text says what to do),
  // Unavailable (tried, but failed). CheckWay: whether Reload or Restart has a way; changes
  // nothing.
  virtual Status CheckWay(const Engine& engine, bool is_restart) = 0;
  virtual Status Reload(const Engine& engine) = 0;
  virtual Status Restart(const Engine& engine) = 0;
  // Makes the service manager re-read its units.
  virtual Status ReloadUnits() = 0;
};

// Through systemd, if the engine has a unit; else SIGHUP to its process, and the host's service
// program (sysvinit, OpenRC) or the command that the admin gave.
class SystemControl final : public EngineControl {
 public:
  SystemControl(const sys::Root& host, sys::ProgramRunner& runner,
                std::vector<std::string> restart_command)
      : host_(host), runner_(runner), restart_command_(std::move(restart_command)) {}
  Status CheckWay(const Engine& engine, bool is_restart) override;
  Status Reload(const Engine& engine) override;
  Status Restart(const Engine& engine) override;
  Status ReloadUnits() override;

 private:
  StatusOr<std::vector<std::string>> RestartCommand(const Engine& engine) const;
  Status Run(const std::vector<std::string>& argv);

  const sys::Root& host_;
  sys::ProgramRunner& runner_;
  std::vector<std::string> restart_command_;  // empty: the host's usual way
};

// For people: the command that starts, reloads or restarts `engine` on `host`: of systemd, of its
// init script; a program that nothing starts is started by its path.
std::string StartCommand(const sys::Root& host, const Engine& engine);
std::string CommandFor(const sys::Root& host, const Engine& engine, bool is_restart);

// The command that checks the engine's configuration without starting it; nothing if it has none,
// or if another program makes what it reads.
// docker has one from 23.0; containerd and CRI-O print what they read.
std::optional<std::vector<std::string>> ValidateCommand(const Engine& engine);

// Runs it, for at most 10 s: if it takes longer, the files are not rejected. Errors:
// FailedPrecondition with its output; otherwise those of running it.
Status Validate(const Engine& engine, const sys::Root& host, sys::ProgramRunner& runner);

}  // namespace kgpu::engine
