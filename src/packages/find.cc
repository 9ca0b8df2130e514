#include "src/packages/apt.h"
#include "src/packages/package_manager.h"
#include "src/sys/find_program.h"

namespace kgpu::packages {

StatusOr<std::unique_ptr<PackageManager>> FindPackageManager(const sys::Root& host,
                                                             sys::ProgramRunner& runner) {
  // A program alone tells little: apt-get and rpm are to be had as packages of the other kind.
  if (host.Exists("var/lib/dpkg/status") && !sys::FindProgram(host, "apt-get").empty()) {
    return std::make_unique<AptManager>(host, runner);
  }
  return NotFound("{}: none of apt-get, dnf, yum and zypper is there", host.path());
}

}  // namespace kgpu::packages
