// The host whose driver a command installs or takes back, and what the work is done with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/cli/driver_progress.h"
#include "src/cli/driver_request.h"
#include "src/host/change/disk.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/running_program.h"

namespace kgpu::cli {

// Tells the lines of every program that runs, also of those that a package manager starts.
class ReportingRunner final : public sys::ProgramRunner {
 public:
  ReportingRunner(sys::ProgramRunner& runner, driver_install::Progress& progress)
      : runner_(runner), progress_(progress) {}
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;

 private:
  sys::ProgramRunner& runner_;
  driver_install::Progress& progress_;
};

// Owns all parts; not to be moved once made, since they refer to each other.
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
  // As driver_install::LockHost; from then on the programs of hands() are noted on the host.
  StatusOr<UniqueFd> Lock();
  // Whether its root is that of the system that runs, and not an image or a chroot.
  bool IsRunningSystem() const;

 private:
  explicit DriverHost(host::DriverRoot root);

  host::DriverRoot root_;
  RealClock clock_;
  DriverProgress progress_;
  sys::RealRunner plain_runner_;
  change::HostDisk disk_;
  change::HostDisk notes_disk_;  // of what a power cut ends anyway
  driver_install::NotingRunner noting_runner_;
  ReportingRunner runner_;
  std::unique_ptr<packages::PackageManager> packages_;  // null: it has none that we know
};

}  // namespace kgpu::cli
