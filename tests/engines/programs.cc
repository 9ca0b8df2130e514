#include "tests/engines/programs.h"

#include <unistd.h>

#include <fmt/format.h>

#include "tests/e2e/sim_host.h"

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
  if (geteuid() != 0) {
    return "engines on simulated hosts need root";
  }
  if (!e2e::CanMakeDevices()) {
    return "character devices can not be made here (no CAP_MKNOD)";
  }
  for (const std::string& program : programs) {
    if (FindProgram(program, origin).empty()) {
      return origin == Origin::kMachine
                 ? fmt::format("{} is not installed: run scripts/setup.sh --test", program)
                 : fmt::format("{} is not in {}: run tests/engines/fetch_newer.sh", program,
                               RootOf(origin));
    }
  }
  return "";
}

}  // namespace kgpu::engines
