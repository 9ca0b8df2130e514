#include "src/host/packages/kept_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"

namespace kgpu::packages {
namespace {

constexpr int kDeepest = 8;

void AddFiles(const sys::Root& host, const std::string& folder, std::string_view end, int depth,
              std::vector<std::string>& files) {
  const auto names = host.ListDir(folder);
  if (!names.ok() || depth == kDeepest) {
    return;
  }
  for (const std::string& name : *names) {
    std::string path = fmt::format("{}/{}", folder, name);
    AddFiles(host, path, end, depth + 1, files);  // which finds nothing in a file
    if (name.ends_with(end)) {
      files.push_back(std::move(path));
    }
  }
}

// File systems that cannot sync a folder say EINVAL.
Status Sync(const sys::Root& host, const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, host.OpenFile(path, O_RDONLY));
  return fsync(fd.get()) == 0 || errno == EINVAL
             ? OkStatus()
             : ErrnoStatus(errno, fmt::format("write {}", host.At(path)));
}

// The managers do not sync what they fetch. A power cut during the removal would lose the files,
// and there may be no other copy.
Status SyncAll(const sys::Root& host, const std::string& folder,
               const std::vector<std::string>& files) {
  // The one that the folder itself is in, too.
  std::set<std::string> folders = {folder, std::filesystem::path(folder).parent_path().string()};
  for (const std::string& file : files) {
    RETURN_IF_ERROR(Sync(host, file));
    for (auto above = std::filesystem::path(file).parent_path();
         above.string().size() > folder.size(); above = above.parent_path()) {
      folders.insert(above.string());
    }
  }
  for (const std::string& above : folders) {
    RETURN_IF_ERROR(Sync(host, above));
  }
  return OkStatus();
}

}  // namespace

std::vector<std::string> FilesBelow(const sys::Root& host, const std::string& folder,
                                    std::string_view end) {
  std::vector<std::string> files;
  AddFiles(host, folder, end, 0, files);
  std::ranges::sort(files);
  return files;
}

Status CheckKept(const sys::Root& host, const std::string& folder, std::string_view end,
                 size_t count) {
  const std::vector<std::string> files = FilesBelow(host, folder, end);
  if (files.size() < count) {
    return FailedPrecondition("{}: only {} of {} packages could be downloaded", host.At(folder),
                              files.size(), count);
  }
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const struct stat status, host.Stat(file));
    if (status.st_size == 0) {
      return FailedPrecondition("{}: downloaded, but empty", host.At(file));
    }
  }
  return SyncAll(host, folder, files);
}

Status LookInto(const Calls& calls, const std::vector<std::string>& argv,
                const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::vector<std::string> look = argv;
    look.push_back(file);
    ASSIGN_OR_RETURN(const sys::RunResult result, calls.Run(std::move(look), kQueryDeadline));
    if (!result.IsSuccess()) {
      return Annotate(FailureOf(argv[0], "read a package", result), "{}: downloaded, but corrupt",
                      calls.host().At(file));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::packages
