#include "src/host/features/folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/sys/openat2.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::features {
namespace {

// The two errors that mean "not there" are distinguished from the rest; a status has no errno.
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
  // O_NONBLOCK: a FIFO planted at the path must not block us.
  return sys::OpenAt2(folder, name, O_RDONLY | O_NONBLOCK, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

constexpr std::string_view kUp = "../";

// "sys/devices/x" of the link "../../../devices/x" in "sys/bus/pci/devices".
std::string LinkedPath(std::string_view folder, std::string_view target) {
  while (target.starts_with(kUp)) {
    target.remove_prefix(kUp.size());
    const size_t slash = folder.rfind('/');
    folder = slash == std::string_view::npos ? std::string_view() : folder.substr(0, slash);
  }
  return folder.empty() ? std::string(target) : fmt::format("{}/{}", folder, target);
}

// The content of the descriptor `opened`, or -errno.
FileText ReadOnce(int opened) {
  if (opened < 0) {
    return {.error = -opened, .text = {}};
  }
  const UniqueFd fd(opened);
  // An attribute comes whole with one read (Documentation/filesystems/sysfs.rst).
  std::array<char, kAttributeLimit + 1> bytes;  // the kernel fills it
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

}  // namespace

FileText ReadAttribute(const sys::Root& host, const char* path) {
  // O_NONBLOCK: a FIFO planted at the path must not block us.
  return ReadOnce(host.TryOpen(path, O_RDONLY | O_NONBLOCK));
}

Folder Folder::Open(const sys::Root& host, std::string path) {
  const int fd = host.TryOpen(path.c_str(), O_PATH | O_DIRECTORY);
  return Folder(std::move(path), fd < 0 ? UniqueFd() : UniqueFd(fd), fd < 0 ? -fd : 0);
}

FileText Folder::Read(const char* name) const {
  return is_open() ? ReadOnce(OpenBelow(fd_.get(), name)) : FileText{.error = error_, .text = {}};
}

std::optional<std::string> Folder::Text(const char* name) const {
  FileText file = Read(name);
  return file.ok() ? std::optional(std::move(file.text)) : std::nullopt;
}

bool Folder::Has(const char* name) const {
  return is_open() && ::faccessat(fd_.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<std::string> Folder::Link(const char* name) const {
  std::array<char, PATH_MAX> text;  // the kernel fills it
  const ssize_t length =
      is_open() ? ::readlinkat(fd_.get(), name, text.data(), text.size()) : ssize_t{-1};
  return length <= 0 ? std::nullopt
                     : std::optional(std::string(text.data(), static_cast<size_t>(length)));
}

std::optional<std::string> Folder::LinkName(const char* name) const {
  std::optional<std::string> text = Link(name);
  if (text) {
    text->erase(0, text->rfind('/') + 1);
  }
  return text;
}

Folder Folder::OpenEntry(const sys::Root& host, const std::string& name) const {
  const std::string path = fmt::format("{}/{}", path_, name);
  const std::optional<std::string> target = Link(name.c_str());
  if (target && target->starts_with(kUp)) {
    // Right when no folder above is a link itself, as in sysfs; else there is nothing there.
    if (Folder direct = Open(host, LinkedPath(path_, *target)); direct.is_open()) {
      direct.path_ = path;
      return direct;
    }
  }
  return Open(host, path);
}

FileText ReadText(const sys::Root& host, std::string_view path, size_t limit) {
  const StatusOr<std::string> text = host.ReadFile(path, limit);
  if (!text.ok()) {
    return {.error = ErrnoOf(text.status()), .text = {}};
  }
  return {.error = 0, .text = std::string(Trim(*text))};
}

}  // namespace kgpu::features
