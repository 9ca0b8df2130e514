#include "src/packages/kept_files.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
  const size_t found = FilesBelow(host, folder, end).size();
  return found >= count ? OkStatus()
                        : FailedPrecondition("{}: only {} of {} packages could be fetched",
                                             host.At(folder), found, count);
}

}  // namespace kgpu::packages
