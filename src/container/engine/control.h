// Makes a running engine take its configuration over.
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
  // Errors of all: FailedPrecondition (no way known here; the text says what to do), Unavailable
  // (tried, and it went wrong).
  // Whether Reload or Restart knows a way; changes nothing.
  virtual Status CheckWay(const Engine& engine, bool is_restart) = 0;
  virtual Status Reload(const Engine& engine) = 0;
  virtual Status Restart(const Engine& engine) = 0;
  // Lets the service manager read its units again.
  virtual Status ReloadUnits() = 0;
};

// By systemd, where the engine has a unit; else SIGHUP to its process, and the host's service
// program (sysvinit, OpenRC) or the command that the admin named.
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
  std::vector<std::string> restart_command_;  // empty: as the host does it
};

// For people: the command that starts, reloads or restarts `engine` on `host`: of systemd, of its
// init script; a program that nothing starts is started by its path.
std::string StartCommand(const sys::Root& host, const Engine& engine);
std::string CommandFor(const sys::Root& host, const Engine& engine, bool is_restart);

// What checks the engine's configuration without starting it; nothing where it has no such command.
// docker has one from 23.0; containerd and CRI-O print what they read.
std::optional<std::vector<std::string>> ValidateCommand(const Engine& engine);

// Runs it. Errors: FailedPrecondition with what it says; of running it otherwise.
Status Validate(const Engine& engine, const sys::Root& host, sys::ProgramRunner& runner);

}  // namespace kgpu::engine
