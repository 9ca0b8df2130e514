#include "src/container/engine/control.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/engine_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::engine {
namespace {

constexpr std::chrono::minutes kRestartDeadline{3};
constexpr std::chrono::seconds kValidateDeadline{10};

// What its unit and its init script may be called, the usual name first.
std::vector<std::string_view> ServiceNames(const Engine& engine) {
  if (engine.distribution == "k3s") {
    return {"k3s", "k3s-agent"};
  }
  if (engine.distribution == "rke2") {
    return {"rke2-server", "rke2-agent"};
  }
  if (engine.distribution == "k0s") {
    return {"k0sworker", "k0scontroller"};
  }
  if (engine.distribution == "microk8s") {
    return {"snap.microk8s.daemon-containerd"};
  }
  return {ToString(engine.kind)};
}

// {"/sbin/rc-service", "docker", "start"} of OpenRC, with "service" of sysvinit; empty: the host
// has no script for it.
std::vector<std::string> ScriptCommand(const sys::Root& host, const Engine& engine,
                                       std::string_view action) {
  for (const std::string_view service : ServiceNames(engine)) {
    const std::string script = fmt::format("/etc/init.d/{}", service);
    for (const char* name : {"rc-service", "service"}) {
      const std::string program = sys::FindProgram(host, name);
      if (!program.empty() && host.Exists(script)) {
        return {program, std::string(service), std::string(action)};
      }
    }
    if (host.Exists(script)) {
      return {script, std::string(action)};
    }
  }
  return {};
}

// SIGHUP to the very process that was found: a number may have been given away since.
Status Hangup(const sys::Root& host, const host::Daemon& daemon) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, daemon.pid, 0)));
  const auto ours = sys::Root::Open("/");
  RETURN_IF_ERROR(ours.status());
  const std::string file = fmt::format("proc/{}/stat", daemon.pid);
  const auto seen = host.ReadFile(file);
  const auto here = ours->ReadFile(file);
  // The same process by both procfs: in a container with the host's files only, it is not there.
  const bool is_same = process.is_valid() && seen.ok() && here.ok() &&
                       seen->substr(0, seen->find(')')) == here->substr(0, here->find(')')) &&
                       seen->find(daemon.name) != std::string::npos;
  if (!is_same) {
    return FailedPrecondition(
        "process {} ({}) cannot be signaled from here: run kill -HUP {} on the host", daemon.pid,
        daemon.name, daemon.pid);
  }
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGHUP, nullptr, 0) != 0) {
    return ErrnoStatus(errno, fmt::format("send SIGHUP to {} ({})", daemon.name, daemon.pid));
  }
  return OkStatus();
}

}  // namespace

Status SystemControl::Run(const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   runner_.Run(sys::RequestOf(host_, argv, kRestartDeadline)));
  return result.IsSuccess() ? OkStatus()
                            : Unavailable("{}: {}", Join(argv, " "), sys::Describe(result));
}

StatusOr<std::vector<std::string>> SystemControl::RestartCommand(const Engine& engine) const {
  if (!restart_command_.empty()) {
    return restart_command_;
  }
  if (!engine.unit.empty()) {
    return sys::SystemctlCommand(host_, {"restart", engine.unit});
  }
  if (std::vector<std::string> command = ScriptCommand(host_, engine, "restart");
      !command.empty()) {
    return command;
  }
  return FailedPrecondition(
      "{} is not run by a service manager: omit --restart and restart it manually, or set the "
      "command with --restart-with COMMAND",
      engine.Name());
}

Status SystemControl::CheckWay(const Engine& engine, bool is_restart) {
  if (is_restart) {
    return RestartCommand(engine).status();
  }
  return engine.unit.empty() && !engine.daemon
             ? FailedPrecondition("{} is not running", engine.Name())
             : OkStatus();
}

Status SystemControl::ReloadUnits() {
  if (!sys::HasSystemd(host_)) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> command,
                   sys::SystemctlCommand(host_, {"daemon-reload"}));
  return Run(command);
}

Status SystemControl::Reload(const Engine& engine) {
  if (!engine.unit.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> command,
                     sys::SystemctlCommand(host_, {"reload", engine.unit}));
    return Run(command);
  }
  if (!engine.daemon) {
    return FailedPrecondition("{} is not running", engine.Name());
  }
  return Hangup(host_, *engine.daemon);
}

Status SystemControl::Restart(const Engine& engine) {
  if (restart_command_.empty() && !engine.unit.empty()) {
    // One that has failed to start a few times is not started again otherwise, not even with the
    // old configuration that we have just put back.
    ASSIGN_OR_RETURN(const std::vector<std::string> forgive,
                     sys::SystemctlCommand(host_, {"reset-failed", engine.unit}));
    (void)Run(forgive);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> command, RestartCommand(engine));
  return Run(command);
}

std::string StartCommand(const sys::Root& host, const Engine& engine) {
  if (sys::HasSystemd(host)) {
    return fmt::format("systemctl start {}", engine.unit.empty()
                                                 ? std::string(ServiceNames(engine).front())
                                                 : engine.unit);
  }
  if (const std::vector<std::string> command = ScriptCommand(host, engine, "start");
      !command.empty()) {
    return Join(command, " ");
  }
  return engine.program.empty()
             ? fmt::format("# start {} by hand (no service manager found)", engine.Name())
             : fmt::format("{}   # no service manager found", engine.program);
}

std::string CommandFor(const sys::Root& host, const Engine& engine, bool is_restart) {
  if (!engine.unit.empty()) {
    return fmt::format("systemctl {} {}", is_restart ? "restart" : "reload", engine.unit);
  }
  if (!is_restart && engine.daemon) {
    return fmt::format("kill -HUP {}", engine.daemon->pid);
  }
  const std::vector<std::string> command = ScriptCommand(host, engine, "restart");
  return command.empty()
             ? fmt::format("# restart {} by hand (no service manager found)", engine.Name())
             : Join(command, " ");
}

namespace {

// With the flags that it runs with: some of them forbid keys of the file.
std::vector<std::string> DockerCommand(const Engine& engine) {
  std::vector<std::string> command = {engine.program, "--validate", "--config-file",
                                      engine.config_file};
  const std::vector<std::string> argv =
      engine.daemon ? engine.daemon->argv : std::vector<std::string>();
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "--config-file") {
      ++i;
    } else if (!argv[i].starts_with("--config-file=")) {
      command.push_back(argv[i]);
    }
  }
  return command;
}

}  // namespace

std::optional<std::vector<std::string>> ValidateCommand(const Engine& engine) {
  if (engine.program.empty() || !engine.version) {
    return std::nullopt;
  }
  if (engine.is_template && HasOnlyDropIn(engine)) {  // which the generated file imports
    return std::vector<std::string>{engine.program, "--config", engine.generated_file, "config",
                                    "dump"};
  }
  if (!engine.generated_file.empty()) {
    return std::nullopt;
  }
  if (engine.kind == Kind::kDocker && *engine.version >= Version{23, 0}) {
    return DockerCommand(engine);
  }
  if (engine.kind == Kind::kContainerd) {
    return std::vector<std::string>{engine.program, "--config", engine.config_file, "config",
                                    "dump"};
  }
  if (engine.kind == Kind::kCrio) {
    return std::vector<std::string>{engine.program, "--config-dir", engine.drop_in_folder,
                                    "config"};
  }
  return std::nullopt;
}

Status Validate(const Engine& engine, const sys::Root& host, sys::ProgramRunner& runner) {
  const auto command = ValidateCommand(engine);
  if (!command) {
    return OkStatus();
  }
  const StatusOr<sys::RunResult> result =
      runner.Run(sys::RequestOf(host, *command, kValidateDeadline));
  if (result.status().code() == StatusCode::kDeadlineExceeded) {
    return OkStatus();  // no rejection: a check that hangs shows nothing
  }
  RETURN_IF_ERROR(result.status());
  return result->IsSuccess() ? OkStatus()
                             : FailedPrecondition("{} rejects it: {}: {}", engine.Name(),
                                                  Join(*command, " "), sys::Describe(*result));
}

}  // namespace kgpu::engine
