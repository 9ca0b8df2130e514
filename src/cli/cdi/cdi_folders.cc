#include "src/cli/cdi/cdi_folders.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "src/container/cdi/folder.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

std::string Absolute(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).string();
}

bool IsSameFolder(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error);
}

StatusOr<sys::Root> OpenHost(const HostOptions& host) {
  return sys::Root::Open(host.host_root.empty() ? "/" : host.host_root);
}

}  // namespace

StatusOr<CdiFolders> FoldersToRead(const HostOptions& host, const std::vector<std::string>& given) {
  if (given.empty()) {
    ASSIGN_OR_RETURN(sys::Root root, OpenHost(host));
    return CdiFolders{std::move(root),
                      {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)}};
  }
  ASSIGN_OR_RETURN(sys::Root root, sys::Root::Open("/"));
  std::vector<std::string> paths;
  paths.reserve(given.size());
  for (const std::string& folder : given) {
    paths.push_back(Absolute(folder));
  }
  return CdiFolders{std::move(root), std::move(paths)};
}

StatusOr<CdiFolders> FoldersToWrite(const HostOptions& host, const std::string& output_dir) {
  if (output_dir.empty()) {
    return FoldersToRead(host, {});
  }
  ASSIGN_OR_RETURN(const sys::Root host_root, OpenHost(host));
  ASSIGN_OR_RETURN(CdiFolders folders, FoldersToRead(host, {output_dir}));
  std::vector<std::string> paths;
  for (const std::string_view folder : {cdi::kStaticFolder, cdi::kDynamicFolder}) {
    // Its real place: an absolute link such as /var/run leads elsewhere from our own root.
    const StatusOr<std::string> real = host_root.Resolve(folder);
    std::string path = Absolute(host_root.At(real.ok() ? *real : folder));
    if (!IsSameFolder(path, output_dir)) {
      paths.push_back(std::move(path));
    }
  }
  paths.push_back(std::move(folders.paths.back()));
  folders.paths = std::move(paths);
  return folders;
}

}  // namespace kgpu::cli
