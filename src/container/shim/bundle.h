// The spec of a bundle as a file: read carefully, replaced as a whole.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::shim {

// Keeps the bundle's folder open from the first read to the last write, so that nobody who
// meanwhile swaps folders for links can redirect a read or a write. Thread: one.
class BundleSpec {
 public:
  // The spec at `path`; nothing if it does not exist (the runtime will report that). Never follows
  // a link at the file itself, never waits for a pipe, reads no byte past the limit. Errors:
  // InvalidArgument (a link or no file), OutOfRange (more than oci::kSpecLimit bytes),
  // PermissionDenied, …
  static StatusOr<std::optional<BundleSpec>> Open(std::string_view path);

  // The path for people.
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

  // Replaces the file by one with `text` and the same owner and mode.
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
