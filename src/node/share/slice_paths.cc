#include "src/node/share/slice_paths.h"

#include <fmt/format.h>

namespace kgpu::share {

std::string FileOfSlot(std::string_view slot_id, std::string_view name) {
  std::string file(slot_id);
  for (size_t at = file.find("::"); at != std::string::npos; at = file.find("::")) {
    file.replace(at, 2, "_");
  }
  // The names of old drivers' MIG devices: "MIG-GPU-…/1/0".
  for (char& c : file) {
    c = c == '/' ? '_' : c;
  }
  return fmt::format("{}.{}", file, name);
}

std::vector<SliceMount> MountsOf(const SlicePaths& paths, std::span<const std::string> slot_ids) {
  const auto host = [&](std::string_view file) { return fmt::format("{}/{}", paths.folder, file); };
  std::vector<SliceMount> mounts = {
      {.container_path = std::string(kContainerLibrary), .host_path = host(paths.library)},
      {.container_path = std::string(kPreloadList), .host_path = host(kPreloadName)}};
  for (size_t i = 0; i < slot_ids.size(); ++i) {
    for (const std::string_view name : {kLimitsName, kLedgerName}) {
      mounts.push_back({.container_path = fmt::format("{}/{}/{}", kContainerSlots, i, name),
                        .host_path = host(FileOfSlot(slot_ids[i], name)),
                        .is_read_only = name == kLimitsName});
    }
  }
  return mounts;
}

}  // namespace kgpu::share
