#include "tests/soak/mps_daemons.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::soak {

std::map<std::string, std::vector<pid_t>> FindMpsDaemons(const std::string& run_dir) {
  // Daemons alone have it: the same program, as a client that passes commands on, has no logs.
  const std::string prefix = "CUDA_MPS_LOG_DIRECTORY=" + run_dir + "/mps/";
  std::map<std::string, std::vector<pid_t>> daemons;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = ParseUint(entry->path().filename().string());
    if (!pid) {
      continue;
    }
    std::ifstream file(entry->path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    for (const std::string_view variable : Split(environment, '\0')) {
      if (variable.starts_with(prefix)) {
        const std::string_view rest = variable.substr(prefix.size());
        daemons[std::string(rest.substr(0, rest.find('/')))].push_back(static_cast<pid_t>(*pid));
      }
    }
  }
  return daemons;
}

}  // namespace kgpu::soak
