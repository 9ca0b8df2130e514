#include "src/node/inventory/quick_look.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include <vector>

#include "src/host/inspect/companion_nodes.h"

namespace kgpu::inventory {
namespace {

constexpr char kFolder[] = "proc/driver/nvidia";

std::vector<std::string> Names(const sys::Root& host, const std::string& folder) {
  auto names = host.ListDir(folder);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

// "gi7[ci0,]" for each GPU instance of a GPU.
void AddInstances(const sys::Root& host, const std::string& mig_folder, std::string& look) {
  for (const std::string& instance : Names(host, mig_folder)) {
    if (!instance.starts_with("gi")) {
      continue;
    }
    look += instance + "[";
    for (const std::string& entry : Names(host, fmt::format("{}/{}", mig_folder, instance))) {
      if (entry.starts_with("ci")) {
        look += entry + ",";
      }
    }
    look += "]";
  }
}

// The time says enough: a list of 2,000 channels every second would cost more than all the rest.
void AddTime(const sys::Root& host, std::string_view folder, std::string& look) {
  const StatusOr<struct stat> status = host.Stat(folder);
  if (status.ok()) {
    look += fmt::format("{}@{}.{}\n", folder, status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
  }
}

void AddModule(const sys::Root& host, std::string& look) {
  const auto version = host.ReadFile(fmt::format("{}/version", kFolder));
  if (!version.ok()) {
    return;
  }
  look += *version;
  for (const std::string& gpu : Names(host, fmt::format("{}/gpus", kFolder))) {
    look += gpu + "\n";
  }
  for (const std::string& gpu : Names(host, fmt::format("{}/capabilities", kFolder))) {
    if (gpu.starts_with("gpu")) {
      const std::string mig = fmt::format("{}/capabilities/{}/mig", kFolder, gpu);
      look += gpu + ":";
      if (host.Exists(mig)) {
        look += "mig:";
        AddInstances(host, mig, look);
      }
    }
  }
}

}  // namespace

std::string QuickLook(const sys::Root& host) {
  std::string look;
  AddModule(host, look);
  AddTime(host, host::kImexChannelFolder, look);
  AddTime(host, host::kInfinibandFolder, look);
  return look;
}

}  // namespace kgpu::inventory
