#include <array>
#include <utility>

#include "src/host/packages/apt.h"
#include "src/host/packages/package_manager.h"
#include "src/host/packages/rpm.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::packages {

StatusOr<std::unique_ptr<PackageManager>> FindPackageManager(const sys::Root& host,
                                                             sys::ProgramRunner& runner) {
  // A program alone says little: apt-get and rpm exist as packages of the other kind.
  if (host.Exists("var/lib/dpkg/status") && !sys::FindProgram(host, "apt-get").empty()) {
    return std::make_unique<AptManager>(host, runner);
  }
  struct RpmFront {
    const char* name;
    Front front;
  };
  // zypper first: SUSE has a dnf, too. Amazon Linux 2 alone has nothing newer than yum.
  constexpr std::array<RpmFront, 4> kFronts = {{{"zypper", Front::kZypper},
                                                {"dnf", Front::kDnf},
                                                {"dnf5", Front::kDnf},
                                                {"yum", Front::kYum}}};
  for (const auto& [name, front] : kFronts) {
    if (std::string program = sys::FindProgram(host, name); !program.empty()) {
      return std::make_unique<RpmManager>(host, runner, front, std::move(program));
    }
  }
  return NotFound("{}: apt-get, dnf, yum and zypper not found", host.path());
}

}  // namespace kgpu::packages
