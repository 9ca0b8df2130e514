#include "src/container/shim/real_runtime.h"

#include <array>
#include <string_view>

#include "src/container/shim/config.h"

namespace kgpu::shim {
namespace {

constexpr std::array<std::string_view, 6> kFolders = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

bool IsUsable(const sys::Root& host, const std::string& path, const struct stat& self) {
  const StatusOr<struct stat> found = host.Stat(path);
  return found.ok() && S_ISREG(found->st_mode) && (found->st_mode & 0111) != 0 &&
         (found->st_dev != self.st_dev || found->st_ino != self.st_ino);
}

constexpr std::string_view kMarker = "KGPU_RUNTIME_PID=";

}  // namespace

StatusOr<std::string> FindRealRuntime(const sys::Root& host,
                                      const std::vector<std::string>& runtimes,
                                      const struct stat& self) {
  for (const std::string& runtime : runtimes) {
    if (runtime.starts_with('/')) {
      if (IsUsable(host, runtime, self)) {
        return host.At(runtime);
      }
      continue;
    }
    for (const std::string_view folder : kFolders) {
      if (const std::string path = fmt::format("{}/{}", folder, runtime);
          IsUsable(host, path, self)) {
        return host.At(path);
      }
    }
  }
  return NotFound(
      "none of {} found in {}: install runc, or set its full path in \"runtimes\" of {}",
      fmt::join(runtimes, ", "), fmt::join(kFolders, ", "), kConfigPath);
}

StatusOr<std::vector<char*>> MarkedEnvironment(char** environment, pid_t pid, std::string& marker) {
  marker = fmt::format("{}{}", kMarker, pid);
  std::vector<char*> marked;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (*variable == marker) {
      return FailedPrecondition(
          "the configured runtime is another copy of kgpu-runtime, and they would start each other "
          "forever: set the full path of runc or crun in \"runtimes\" of {}",
          kConfigPath);
    }
    if (!std::string_view(*variable).starts_with(kMarker)) {
      marked.push_back(*variable);
    }
  }
  marked.push_back(marker.data());
  marked.push_back(nullptr);
  return marked;
}

}  // namespace kgpu::shim
