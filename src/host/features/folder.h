// Many small files of one folder of proc or sysfs, read with few system calls: three a file, one
// for a file that is not there. Names below it never follow a link, so nothing leads out of the
// root.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::features {

// What one attribute of sysfs can have: a page.
inline constexpr size_t kAttributeLimit = 4096;

// A small file's text without blanks around it, or why there is none.
struct FileText {
  int error = 0;  // as errno; EFBIG when it is longer than an attribute can be
  std::string text;
  bool ok() const { return error == 0; }
  bool is_missing() const { return error == ENOENT || error == ENOTDIR; }
};

// One file below the root; links are followed inside it.
FileText ReadAttribute(const sys::Root& host, const char* path);

// A folder of which several files are read. Names below it never follow a link, so nothing leads
// out of the root.
class Folder {
 public:
  // Links in `path` are followed inside the root. `error()` says why it could not be opened.
  static Folder Open(const sys::Root& host, std::string path);

  bool is_open() const { return fd_.is_valid(); }
  int error() const { return error_; }
  bool is_missing() const { return error_ == ENOENT || error_ == ENOTDIR; }
  // Below the root.
  const std::string& path() const { return path_; }

  // `name` may be a path below the folder that has no link in it.
  FileText Read(const char* name) const;
  // The folder that `name` is or, as in /sys/bus/pci/devices, is a link to: by the path that the
  // link means, which is a third of the way through it. Links never lead out of the root.
  Folder OpenEntry(const sys::Root& host, const std::string& name) const;
  // Whether there is a file, folder or link of this name; links are not followed.
  bool Has(const char* name) const;
  // A link's text; nothing when `name` is not one.
  std::optional<std::string> Link(const char* name) const;
  // The last part of it, which names what it leads to: "vfio-pci" of "../../vfio-pci".
  std::optional<std::string> LinkName(const char* name) const;
  // The text, or nothing for whatever reason.
  std::optional<std::string> Text(const char* name) const;

 private:
  Folder(std::string path, UniqueFd fd, int error)
      : path_(std::move(path)), fd_(std::move(fd)), error_(error) {}

  std::string path_;
  UniqueFd fd_;
  int error_ = 0;
};

// One file below the root that is longer than an attribute, up to `limit` bytes.
FileText ReadText(const sys::Root& host, std::string_view path, size_t limit);

}  // namespace kgpu::features
