// The host on which a command installs or removes a driver, with the dependencies for that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/cli/driver/driver_progress.h"
#include "src/cli/driver/driver_request.h"
#include "src/host/change/disk.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/running_program.h"

namespace kgpu::cli {

// Reports the output lines of every program, including those that a package manager starts.
class ReportingRunner final : public sys::ProgramRunner {
 public:
  ReportingRunner(sys::ProgramRunner& runner, driver_install::Progress& progress)
      : runner_(runner), progress_(progress) {}
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;

 private:
  sys::ProgramRunner& runner_;
  driver_install::Progress& progress_;
};

// Owns all parts; cannot be moved, since they refer to each other.
class DriverHost {
 public:
  // Errors: those of opening the root.
  static StatusOr<std::unique_ptr<DriverHost>> Open(const DriverOptions& options);

  DriverHost(const DriverHost&) = delete;
  DriverHost& operator=(const DriverHost&) = delete;

  const host::DriverRoot& root() const { return root_; }
  sys::ProgramRunner& runner() { return plain_runner_; }
  DriverProgress& progress() { return progress_; }
  driver_install::Dependencies deps();
  // As driver_install::LockHost; from then on, programs that deps() runs are recorded there.
  StatusOr<UniqueFd> Lock();
  // Whether its root is the running system's, and not an image or a chroot.
  bool IsRunningSystem() const;

 private:
  explicit DriverHost(host::DriverRoot root);

  host::DriverRoot root_;
  RealClock clock_;
  DriverProgress progress_;
  sys::RealRunner plain_runner_;
  change::HostDisk disk_;
  change::HostDisk notes_disk_;  // for what a power cut ends anyway
  driver_install::NotingRunner noting_runner_;
  ReportingRunner runner_;
  std::unique_ptr<packages::PackageManager> packages_;  // null: none that we know
};

}  // namespace kgpu::cli
