// A host's file system as seen from some folder: "/" in production, "/host" in a container, a
// temporary folder in tests. No part of the program uses an absolute path directly.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// The size limit of a read if the caller gives none: proc and sysfs files are far smaller.
inline constexpr size_t kDefaultReadLimit = size_t{1} << 20;

// Every path is relative to the root, with or without a leading slash. Symbolic links are followed
// inside the root: an absolute link means a path below the root, and ".." stops at it. Source:
// openat2(2), RESOLVE_IN_ROOT. Thread: any; immutable after Open.
class Root {
 public:
  // Errors: NotFound, PermissionDenied, InvalidArgument (not a folder).
  static StatusOr<Root> Open(std::string path);

  Root(Root&&) = default;
  Root& operator=(Root&&) = default;
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  // The folder of this root, as given to Open, without trailing slash ("/" stays "/").
  const std::string& path() const { return path_; }
  // `path` for people and other processes: "<root>/<path>". Does not resolve links.
  std::string At(std::string_view path) const;

  // Opens with O_CLOEXEC; `flags` as of open(2). Errors: NotFound, PermissionDenied, …; the text
  // names the whole path.
  StatusOr<UniqueFd> OpenFile(std::string_view path, int flags) const;
  // As OpenFile, but an error is -errno without a text: for readers of hundreds of files, many of
  // which may be missing.
  int TryOpen(const char* path, int flags) const;
  // The whole file. Errors: OutOfRange (more than `limit` bytes), NotFound, PermissionDenied.
  StatusOr<std::string> ReadFile(std::string_view path, size_t limit = kDefaultReadLimit) const;
  // Names in a folder, sorted, without "." and "..". Errors as OpenFile.
  StatusOr<std::vector<std::string>> ListDir(std::string_view path) const;
  // The target of a symbolic link, not followed. Errors: InvalidArgument (not a link), NotFound.
  StatusOr<std::string> ReadLink(std::string_view path) const;
  // The path below the root after following all links: always starts with "/".
  StatusOr<std::string> Resolve(std::string_view path) const;
  // Where `path` is for functions that take paths: At(Resolve(path)); of what does not exist yet,
  // the deepest folder that does is resolved. Errors: FailedPrecondition (a link whose target is
  // missing).
  StatusOr<std::string> FollowLinks(std::string_view path) const;
  // As stat(2), links followed inside the root. Needs no permission on the file itself.
  StatusOr<struct stat> Stat(std::string_view path) const;
  // As lstat(2): the last component is not followed.
  StatusOr<struct stat> LinkStat(std::string_view path) const;
  bool Exists(std::string_view path) const;

 private:
  Root(std::string path, std::string real_path, UniqueFd fd)
      : path_(std::move(path)), real_path_(std::move(real_path)), fd_(std::move(fd)) {}

  std::string path_;
  std::string real_path_;  // as the kernel named the folder when we opened it
  UniqueFd fd_;
};

}  // namespace kgpu::sys
