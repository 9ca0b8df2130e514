#include "src/platform/sys/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/openat2.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::sys {
namespace {

// Returns a descriptor or -errno.
int OpenInRoot(int root, const char* path, int flags) {
  return OpenAt2(root, *path == '\0' ? "." : path, flags, RESOLVE_IN_ROOT);
}

// The kernel's path of an open file. Errors: as errno.
StatusOr<std::string> PathOfFd(int fd) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length =
      readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), text.data(), text.size());
  if (length < 0) {
    return ErrnoStatus(errno, fmt::format("read the name of descriptor {}", fd));
  }
  return std::string(text.data(), static_cast<size_t>(length));
}

}  // namespace

StatusOr<Root> Root::Open(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open folder {}", path));
  }
  if (path == "/") {
    return Root(path, path, std::move(fd));  // nobody can have moved it
  }
  ASSIGN_OR_RETURN(std::string real_path, PathOfFd(fd.get()));
  return Root(std::move(path), std::move(real_path), std::move(fd));
}

std::string Root::At(std::string_view path) const {
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  if (path.empty()) {
    return path_;
  }
  return path_ == "/" ? fmt::format("/{}", path) : fmt::format("{}/{}", path_, path);
}

StatusOr<UniqueFd> Root::OpenFile(std::string_view path, int flags) const {
  const int fd = TryOpen(std::string(path).c_str(), flags);
  if (fd < 0) {
    return ErrnoStatus(-fd, fmt::format("open {}", At(path)));
  }
  return UniqueFd(fd);
}

int Root::TryOpen(const char* path, int flags) const {
  return OpenInRoot(fd_.get(), path, flags);
}

StatusOr<std::string> Root::ReadFile(std::string_view path, size_t limit) const {
  // O_NONBLOCK: a FIFO planted at the path must not block us.
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK));
  auto bytes = ReadAll(fd.get(), limit);
  if (!bytes.ok()) {
    return Annotate(bytes.status(), "read {}", At(path));
  }
  return bytes;
}

StatusOr<std::vector<std::string>> Root::ListDir(std::string_view path) const {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd.get()), closedir);
  if (!dir) {
    return ErrnoStatus(errno, fmt::format("list {}", At(path)));
  }
  (void)fd.Release();  // closedir closes it
  std::vector<std::string> names;
  errno = 0;
  // The stream is ours alone, which is what readdir(3) asks of threads.
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): see above
    const std::string_view name = &entry->d_name[0];
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
    errno = 0;
  }
  if (errno != 0) {
    return ErrnoStatus(errno, fmt::format("list {}", At(path)));
  }
  std::ranges::sort(names);
  return names;
}

StatusOr<std::string> Root::ReadLink(std::string_view path) const {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_PATH | O_NOFOLLOW));
  std::array<char, PATH_MAX> text{};
  const ssize_t length = readlinkat(fd.get(), "", text.data(), text.size());
  if (length < 0) {
    // With an empty path the kernel says ENOENT for what is not a link.
    return ErrnoStatus(errno == ENOENT ? EINVAL : errno,
                       fmt::format("read symbolic link {}", At(path)));
  }
  return std::string(text.data(), static_cast<size_t>(length));
}

StatusOr<std::string> Root::Resolve(std::string_view path) const {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_PATH));
  auto real = PathOfFd(fd.get());
  if (!real.ok()) {
    return Annotate(real.status(), "resolve {}", At(path));
  }
  std::string_view whole = *real;
  if (real_path_ != "/") {
    // "/a.new" is not below "/a".
    const bool is_below = whole.starts_with(real_path_) &&
                          (whole.size() == real_path_.size() || whole[real_path_.size()] == '/');
    if (!is_below) {
      return Unavailable("resolve {}: {} was moved in the meantime", At(path), path_);
    }
    whole.remove_prefix(real_path_.size());
  }
  return whole.empty() ? "/" : std::string(whole);
}

StatusOr<std::string> Root::FollowLinks(std::string_view path) const {
  std::string_view head = path;
  while (true) {
    if (const StatusOr<std::string> resolved = Resolve(head); resolved.ok()) {
      return At(*resolved == "/" ? path.substr(head.size())
                                 : *resolved + std::string(path.substr(head.size())));
    }
    if (const StatusOr<struct stat> entry = LinkStat(head); entry.ok() && S_ISLNK(entry->st_mode)) {
      return FailedPrecondition(
          "{} is a link to a file that does not exist: create the target or "
          "remove the link",
          At(head));
    }
    const size_t slash = head.rfind('/');
    if (slash == std::string_view::npos) {
      return At(path);
    }
    head = head.substr(0, slash);
  }
}

StatusOr<struct stat> Root::Stat(std::string_view path) const {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_PATH));
  struct stat result = {};
  if (fstat(fd.get(), &result) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", At(path)));
  }
  return result;
}

StatusOr<struct stat> Root::LinkStat(std::string_view path) const {
  struct stat result = {};
  if (path_ == "/") {
    // No link leads out of it: one call instead of three.
    const std::string whole = At(path);
    return ::lstat(whole.c_str(), &result) == 0 ? StatusOr<struct stat>(result)
                                                : ErrnoStatus(errno, fmt::format("open {}", whole));
  }
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_PATH | O_NOFOLLOW));
  if (fstat(fd.get(), &result) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", At(path)));
  }
  return result;
}

bool Root::Exists(std::string_view path) const {
  return Stat(path).ok();
}

}  // namespace kgpu::sys
