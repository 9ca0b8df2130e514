#include "src/host/change/folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"

namespace kgpu::change {

std::vector<std::string> MissingFolders(const sys::Root& host, const std::string& path) {
  std::vector<std::string> missing;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  while (folder != folder.root_path() && !folder.empty() && !host.Exists(folder.string())) {
    missing.push_back(folder.string());
    folder = folder.parent_path();
  }
  std::ranges::reverse(missing);
  return missing;
}

Status MakeFoldersAbove(Disk& disk, const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    RETURN_IF_ERROR(disk.MakeFolder(path.substr(0, end)));
  }
  return OkStatus();
}

Status MakeFolders(Disk& disk, std::span<const std::string> folders) {
  for (const std::string& folder : folders) {
    RETURN_IF_ERROR(disk.MakeFolder(folder));
  }
  return OkStatus();
}

Status RemoveFolders(Disk& disk, std::span<const std::string> folders) {
  Status first;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    first.Update(disk.RemoveFolder(*folder));
  }
  return first;
}

Status RemoveTree(const sys::Root& host, Disk& disk, const std::string& folder) {
  const auto status = host.LinkStat(folder);
  if (!status.ok() || !S_ISDIR(status->st_mode)) {
    return disk.Remove(folder);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, host.ListDir(folder));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(RemoveTree(host, disk, fmt::format("{}/{}", folder, name)));
  }
  return disk.RemoveFolder(folder);
}

}  // namespace kgpu::change
