#include "src/cli/driver/driver_host.h"

#include <sys/stat.h>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver/verify.h"

namespace kgpu::cli {

StatusOr<sys::RunResult> ReportingRunner::Run(const sys::RunRequest& request) {
  if (request.on_line) {
    return runner_.Run(request);
  }
  sys::RunRequest reporting = request;
  reporting.on_line = [this](std::string_view line) { progress_.OnLine(line); };
  return runner_.Run(reporting);
}

DriverHost::DriverHost(host::DriverRoot root)
    : root_(std::move(root)),
      progress_(DriverProgress::OnStandardError()),
      disk_(root_.host),
      notes_disk_(root_.host, sys::Durability::kMemory),
      noting_runner_(plain_runner_, root_.host, notes_disk_),
      runner_(noting_runner_, progress_) {
  if (auto found = packages::FindPackageManager(root_.host, runner_); found.ok()) {
    packages_ = *std::move(found);
  }
}

StatusOr<std::unique_ptr<DriverHost>> DriverHost::Open(const DriverOptions& options) {
  ASSIGN_OR_RETURN(host::DriverRoot root,
                   host::OpenDriverRoot(options.host_root, options.driver_root, ""));
  return std::unique_ptr<DriverHost>(new DriverHost(std::move(root)));
}

driver_install::Dependencies DriverHost::deps() {
  const auto verify = [this](const driver::Verify& request) {
    return driver::VerifyDriver(request, {}, root_, plain_runner_);
  };
  return {root_.host, disk_, runner_, packages_.get(), clock_, progress_, verify};
}

StatusOr<UniqueFd> DriverHost::Lock() {
  ASSIGN_OR_RETURN(UniqueFd lock, driver_install::LockHost(deps()));
  noting_runner_.BeginNoting();
  return lock;
}

bool DriverHost::IsRunningSystem() const {
  // As systemd tells a chroot: the root of the first process is the system's.
  struct stat of_init = {};
  struct stat of_host = {};
  if (stat("/proc/1/root/", &of_init) != 0) {
    return root_.host.path() == "/";  // not permitted to us, who then change little
  }
  return stat(root_.host.path().c_str(), &of_host) == 0 && of_host.st_dev == of_init.st_dev &&
         of_host.st_ino == of_init.st_ino;
}

}  // namespace kgpu::cli
