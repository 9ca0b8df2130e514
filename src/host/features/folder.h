// Reads many small files in a folder of proc or sysfs with few system calls: three per file, one if
// the file does not exist. Names below the folder never follow a link, so nothing leads out of the
// root.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::features {

// The size limit of a sysfs attribute: a page.
inline constexpr size_t kAttributeLimit = 4096;

// A small file's text without surrounding blanks, or why there is none.
struct FileText {
  int error = 0;  // an errno; EFBIG if it is longer than an attribute can be
  std::string text;
  bool ok() const { return error == 0; }
  bool is_missing() const { return error == ENOENT || error == ENOTDIR; }
};

// One file below the root; follows links inside it.
FileText ReadAttribute(const sys::Root& host, const char* path);

// A folder from which several files are read. Names below it never follow a link, so nothing leads
// out of the root.
class Folder {
 public:
  // Follows links in `path` inside the root. `error()` says why it could not be opened.
  static Folder Open(const sys::Root& host, std::string path);

  bool is_open() const { return fd_.is_valid(); }
  int error() const { return error_; }
  bool is_missing() const { return error_ == ENOENT || error_ == ENOTDIR; }
  // Relative to the root.
  const std::string& path() const { return path_; }

  // `name` may be a path below the folder if it contains no link.
  FileText Read(const char* name) const;
  // The folder `name`, or the folder that it links to, as in /sys/bus/pci/devices: opened by the
  // link's text, a third of the way through the link. Links never lead out of the root.
  Folder OpenEntry(const sys::Root& host, const std::string& name) const;
  // Whether a file, folder or link of this name exists; does not follow links.
  bool Has(const char* name) const;
  // A link's target; nothing if `name` is no link.
  std::optional<std::string> Link(const char* name) const;
  // The last part of the link's target: "vfio-pci" of "../../vfio-pci".
  std::optional<std::string> LinkName(const char* name) const;
  // The text, or nothing if it cannot be read for any reason.
  std::optional<std::string> Text(const char* name) const;

 private:
  Folder(std::string path, UniqueFd fd, int error)
      : path_(std::move(path)), fd_(std::move(fd)), error_(error) {}

  std::string path_;
  UniqueFd fd_;
  int error_ = 0;
};

// A file below the root that is longer than an attribute, up to `limit` bytes.
FileText ReadText(const sys::Root& host, std::string_view path, size_t limit);

}  // namespace kgpu::features
