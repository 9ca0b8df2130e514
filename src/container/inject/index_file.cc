#include "src/container/inject/index_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::inject {
namespace {

constexpr size_t kSlash = kInjectionIndexPath.rfind('/');
constexpr std::string_view kFolder = kInjectionIndexPath.substr(0, kSlash);
constexpr std::string_view kName = kInjectionIndexPath.substr(kSlash + 1);

// The folder as this process opens it, made when it is missing. Links are followed below the root:
// seen from a container, an absolute one would lead out of the host's.
StatusOr<std::string> MakeFolder(const sys::Root& host) {
  if (!host.Exists(kFolder)) {
    const size_t slash = kFolder.rfind('/');
    ASSIGN_OR_RETURN(const std::string parent, host.Resolve(kFolder.substr(0, slash)));
    const std::string path = host.At(fmt::format("{}{}", parent, kFolder.substr(slash)));
    // Everybody may read it: rootless engines run kgpu-runtime as their user.
    constexpr mode_t kMode = 0755;
    if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, fmt::format("create folder {}", path));
    }
  }
  ASSIGN_OR_RETURN(const std::string real, host.Resolve(kFolder));
  return host.At(real);
}

}  // namespace

StatusOr<bool> WriteIndex(const sys::Root& host, const InjectionIndex& index) {
  const std::string text = PrintIndex(index);
  const StatusOr<std::string> old = host.ReadFile(kInjectionIndexPath, kIndexLimit);
  if (old.ok() && *old == text) {
    return false;
  }
  ASSIGN_OR_RETURN(const std::string folder, MakeFolder(host));
  // A boot empties the folder: nothing to wait for a disk for.
  RETURN_IF_ERROR(sys::WriteFileAtomically(fmt::format("{}/{}", folder, kName), text, 0644,
                                           sys::Durability::kMemory));
  return true;
}

StatusOr<InjectionIndex> ReadIndex(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string text, host.ReadFile(kInjectionIndexPath, kIndexLimit));
  return ParseIndex(text, host.At(kInjectionIndexPath));
}

}  // namespace kgpu::inject
