#include "src/node/sharing/slice_paths.h"

#include <fmt/format.h>

namespace kgpu::sharing {

std::string NameOfSlot(std::string_view slot_id) {
  std::string file(slot_id);
  for (size_t at = file.find("::"); at != std::string::npos; at = file.find("::")) {
    file.replace(at, 2, "_");
  }
  // The names of old drivers' MIG devices: "MIG-GPU-…/1/0".
  for (char& c : file) {
    c = c == '/' ? '_' : c;
  }
  return file;
}

std::string FileOfSlot(std::string_view slot_id, std::string_view name) {
  return fmt::format("{}.{}", NameOfSlot(slot_id), name);
}

std::vector<Mount> MountsOf(const SlicePaths& paths, std::span<const std::string> slot_ids,
                            bool has_gates) {
  const auto host = [&](std::string_view file) { return fmt::format("{}/{}", paths.folder, file); };
  std::vector<Mount> mounts = {
      {.container_path = std::string(kContainerLibrary), .host_path = host(kLibraryName)},
      {.container_path = std::string(kPreloadList), .host_path = host(kPreloadName)}};
  std::vector<std::string_view> names = {kLimitsName, kLedgerName};
  if (has_gates) {
    names.push_back(kGateName);
  }
  for (const std::string& slot : slot_ids) {
    for (const std::string_view name : names) {
      mounts.push_back(
          {.container_path = fmt::format("{}/{}/{}", kContainerSlots, NameOfSlot(slot), name),
           .host_path = host(FileOfSlot(slot, name)),
           .is_read_only = name != kLedgerName});
    }
  }
  return mounts;
}

}  // namespace kgpu::sharing
