#include "tests/engines/programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/e2e/sim_host.h"
#include "tests/engines/box.h"

namespace kgpu::engines {
namespace {

// The root of the file system that the programs lie in.
std::string RootOf(Origin origin) {
  switch (origin) {
    case Origin::kTrixie:
      return KGPU_SOURCE_DIR "/build/engines/trixie";
    case Origin::kForky:
      return KGPU_SOURCE_DIR "/build/engines/forky";
    case Origin::kMachine:
      break;
  }
  return "";
}

// Whether containers can have cgroups of their own here.
bool CanMakeCgroups() {
  for (const char* parent : {"/sys/fs/cgroup/devices", "/sys/fs/cgroup"}) {
    const std::string folder = fmt::format("{}/kgpu-look-{}", parent, getpid());
    constexpr mode_t kMode = 0755;
    if (mkdir(folder.c_str(), kMode) == 0) {
      return rmdir(folder.c_str()) == 0;
    }
  }
  return false;
}

// Why engines cannot be run here at all; empty when they can.
std::string WhyNotHere() {
  if (geteuid() != 0) {
    return "engines on simulated hosts need root";
  }
  if (!e2e::CanMakeDevices()) {
    return "character devices cannot be created here (no CAP_MKNOD)";
  }
  if (!CanMakeCgroups()) {
    return "cgroups cannot be created here: containers need their own";
  }
  const e2e::Result boxed = EngineBox().Run({"/bin/true"});
  return boxed.code == 0 ? "" : fmt::format("no namespaces of our own here: {}", boxed.err);
}

}  // namespace

std::string ToString(Origin origin) {
  switch (origin) {
    case Origin::kTrixie:
      return "Trixie";
    case Origin::kForky:
      return "Forky";
    case Origin::kMachine:
      break;
  }
  return "Machine";
}

std::string FindProgram(const std::string& name, Origin origin) {
  for (const char* folder : {"/usr/sbin", "/usr/bin"}) {
    std::string path = fmt::format("{}{}/{}", RootOf(origin), folder, name);
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return "";
}

std::string WhyNot(const std::vector<std::string>& programs, Origin origin) {
  if (std::string reason = WhyNotHere(); !reason.empty()) {
    return reason;
  }
  for (const std::string& program : programs) {
    if (FindProgram(program, origin).empty()) {
      return origin == Origin::kMachine
                 ? fmt::format("{} is not installed: run scripts/setup.sh --test", program)
                 : fmt::format("{} is not in {}: run tests/engines/fetch_suites.sh", program,
                               RootOf(origin));
    }
  }
  return "";
}

}  // namespace kgpu::engines
