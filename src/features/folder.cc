#include "src/features/folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "src/base/strings.h"
#include "src/sys/read_fd.h"

namespace kgpu::features {
namespace {

// The two errors that mean "not there" are told apart from the rest; a status has no errno.
int ErrnoOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
      return ENOENT;
    case StatusCode::kPermissionDenied:
      return EACCES;
    case StatusCode::kOutOfRange:
      return EFBIG;
    default:
      return EIO;
  }
}

int OpenBelow(int folder, const char* name) {
  open_how how{};
  // O_NONBLOCK: a FIFO planted at the path must not block us.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long fd = 0;
  do {
    fd = syscall(SYS_openat2, folder, name, &how, sizeof(how));
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  return fd < 0 ? -errno : static_cast<int>(fd);
}

}  // namespace

Folder Folder::Open(const sys::Root& host, std::string path) {
  StatusOr<UniqueFd> fd = host.OpenFile(path, O_PATH | O_DIRECTORY);
  if (!fd.ok()) {
    return Folder(std::move(path), UniqueFd(), ErrnoOf(fd.status()));
  }
  return Folder(std::move(path), *std::move(fd), 0);
}

FileText Folder::Read(const char* name) const {
  if (!is_open()) {
    return {.error = error_, .text = {}};
  }
  const int opened = OpenBelow(fd_.get(), name);
  if (opened < 0) {
    return {.error = -opened, .text = {}};
  }
  const UniqueFd fd(opened);
  // An attribute comes whole with one read (Documentation/filesystems/sysfs.rst), and a short read
  // is its end.
  std::array<char, kAttributeLimit + 1> bytes;  // NOLINT(*-member-init): the kernel fills it
  ssize_t got = 0;
  do {
    got = ::read(fd.get(), bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return {.error = errno, .text = {}};
  }
  if (static_cast<size_t>(got) > kAttributeLimit) {
    return {.error = EFBIG, .text = {}};
  }
  return {.error = 0,
          .text = std::string(Trim(std::string_view(bytes.data(), static_cast<size_t>(got))))};
}

std::optional<std::string> Folder::Text(const char* name) const {
  FileText file = Read(name);
  return file.ok() ? std::optional(std::move(file.text)) : std::nullopt;
}

std::optional<std::string> Folder::LinkName(const char* name) const {
  std::array<char, PATH_MAX> text;  // NOLINT(*-member-init): the kernel fills it
  const ssize_t length =
      is_open() ? ::readlinkat(fd_.get(), name, text.data(), text.size()) : ssize_t{-1};
  if (length <= 0) {
    return std::nullopt;
  }
  const std::string_view target(text.data(), static_cast<size_t>(length));
  return std::string(target.substr(target.rfind('/') + 1));
}

FileText ReadText(const sys::Root& host, std::string_view path, size_t limit) {
  const StatusOr<std::string> text = host.ReadFile(path, limit);
  if (!text.ok()) {
    return {.error = ErrnoOf(text.status()), .text = {}};
  }
  return {.error = 0, .text = std::string(Trim(*text))};
}

}  // namespace kgpu::features
