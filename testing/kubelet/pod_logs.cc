#include "testing/kubelet/pod_logs.h"

#include <filesystem>
#include <set>
#include <system_error>

namespace kgpu::kubelet {

namespace fs = std::filesystem;

Status ShowPodLogs(const std::string& folder, const std::vector<Pod*>& pods) {
  std::set<std::string> wanted;
  std::error_code error;
  for (const Pod* pod : pods) {
    const std::string name =
        fmt::format("{}_{}_{}", pod->spec.name_space, pod->spec.name, pod->spec.uid);
    wanted.insert(name);
    for (const ContainerStatus& container : pod->status.containers) {
      if (!container.id.empty() && !error) {
        fs::create_directories(fmt::format("{}/{}/{}", folder, name, container.name), error);
      }
    }
  }
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create folders in {}", folder));
  }
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!wanted.contains(entry->path().filename().string())) {
      std::error_code stays;
      fs::remove_all(entry->path(), stays);
    }
  }
  return OkStatus();
}

}  // namespace kgpu::kubelet
