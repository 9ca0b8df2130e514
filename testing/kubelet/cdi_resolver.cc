#include "testing/kubelet/cdi_resolver.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {
namespace {

Status NotResolved(const cdi::FolderContents& contents, const std::string& name) {
  const auto conflict = std::ranges::find(contents.conflicts, name, &cdi::Conflict::name);
  if (conflict != contents.conflicts.end()) {
    return FailedPrecondition("CDI device {}: {} files declare it", name, conflict->paths.size());
  }
  std::string text = fmt::format("CDI device {}: no spec declares it", name);
  for (const cdi::SpecFile& file : contents.files) {
    if (!file.problem.empty()) {
      fmt::format_to(std::back_inserter(text), "; {}", file.problem);
    }
  }
  return FailedPrecondition("{}", text);
}

const cdi::SpecFile* FileOf(const cdi::FolderContents& contents, const std::string& name) {
  const auto resolved = std::ranges::find(contents.devices, name, &cdi::Resolved::name);
  if (resolved == contents.devices.end()) {
    return nullptr;
  }
  const auto file = std::ranges::find(contents.files, resolved->path, &cdi::SpecFile::path);
  return file == contents.files.end() ? nullptr : &*file;
}

}  // namespace

StatusOr<std::vector<cdi::ContainerEdits>> ResolveCdi(const cdi::FolderContents& contents,
                                                      const std::vector<std::string>& names) {
  std::vector<cdi::ContainerEdits> edits;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const cdi::SpecFile* file = FileOf(contents, name);
    if (file == nullptr) {
      return NotResolved(contents, name);
    }
    if (seen.insert(file->path).second) {
      edits.push_back(file->spec.edits);
    }
    const std::string device_name = name.substr(name.find('=') + 1);
    const auto device = std::ranges::find(file->spec.devices, device_name, &cdi::Device::name);
    if (device != file->spec.devices.end()) {
      edits.push_back(device->edits);
    }
  }
  return edits;
}

}  // namespace kgpu::kubelet
