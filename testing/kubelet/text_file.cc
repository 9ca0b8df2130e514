#include "testing/kubelet/text_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::kubelet {

StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  StatusOr<std::string> text = sys::ReadAll(fd.get(), limit);
  return text.ok() ? std::move(text) : Annotate(text.status(), "read {}", path);
}

}  // namespace kgpu::kubelet
