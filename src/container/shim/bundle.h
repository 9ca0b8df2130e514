// The spec of a bundle as a file: read with care, replaced as a whole.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::shim {

// Holds the bundle's folder open from the first look to the last write, so that whoever swaps
// folders for links meanwhile gets nothing read or written elsewhere. Thread: one.
class BundleSpec {
 public:
  // The spec at `path`; nothing when it is not there (the runtime will say so). Never follows a
  // link in the place of the file, never waits for a pipe, reads no byte past the limit. Errors:
  // InvalidArgument (a link or no file), OutOfRange (more than oci::kSpecLimit bytes),
  // PermissionDenied, …
  static StatusOr<std::optional<BundleSpec>> Open(std::string_view path);

  // As people find it.
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

  // Puts `text` into a file of the same owner and mode in its place.
  Status Replace(std::string_view text) const;

 private:
  BundleSpec() = default;

  std::string path_;
  std::string name_;
  UniqueFd folder_;
  std::string text_;
  struct stat info_{};
};

}  // namespace kgpu::shim
