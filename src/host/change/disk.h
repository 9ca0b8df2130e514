// The few ways in which files of a host are changed. A seam of its own so that a test can die at
// every one of them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// Larger files are neither read nor changed; a program may be among them.
inline constexpr size_t kMostFileBytes = size_t{64} << 20;
// Mode of journals and of texts that are kept: a proxy's password may be in them.
inline constexpr mode_t kRootOnly = 0600;

struct Attributes {
  mode_t mode = 0644;
  uid_t uid = 0;
  gid_t gid = 0;
  bool operator==(const Attributes&) const = default;
};

// Paths are below the host's root. Every change is done whole or not at all.
class Disk {
 public:
  virtual ~Disk() = default;
  // A file that is there keeps owner and mode, a link to one stays a link; a new one gets `mode`.
  // Errors: FailedPrecondition (a device, pipe or folder is there), …
  virtual Status Write(const std::string& path, std::string_view bytes, mode_t mode) = 0;
  // As Write, with exactly this owner and mode, whatever was there.
  virtual Status Replace(const std::string& path, std::string_view bytes,
                         const Attributes& attributes) = 0;
  // A file or link that is not there is no error.
  virtual Status Remove(const std::string& path) = 0;
  // Errors: AlreadyExists.
  virtual Status Link(const std::string& path, const std::string& target) = 0;
  // Mode 0755; the folder above it is there. A folder that is there is no error.
  virtual Status MakeFolder(const std::string& path) = 0;
  // One that is not empty, or not there, is left as it is.
  virtual Status RemoveFolder(const std::string& path) = 0;
  // A file or a folder with all that is in it, on the same file system; the folder above `to` is
  // there, and `to` is not. Errors: NotFound, FailedPrecondition (it cannot be had there).
  virtual Status Move(const std::string& path, const std::string& to) = 0;
  // Takes away what killed processes left beside the file.
  virtual Status Tidy(const std::string& path) = 0;
};

class HostDisk final : public Disk {
 public:
  // `durability` of what is written: a disk that takes a long time for each is no disk for
  // thousands of writes that nobody needs after a power cut.
  explicit HostDisk(const sys::Root& host, sys::Durability durability = sys::Durability::kDisk)
      : host_(host), durability_(durability) {}
  Status Write(const std::string& path, std::string_view bytes, mode_t mode) override;
  Status Replace(const std::string& path, std::string_view bytes,
                 const Attributes& attributes) override;
  Status Remove(const std::string& path) override;
  Status Link(const std::string& path, const std::string& target) override;
  Status MakeFolder(const std::string& path) override;
  Status RemoveFolder(const std::string& path) override;
  Status Move(const std::string& path, const std::string& to) override;
  Status Tidy(const std::string& path) override;

 private:
  // Where `path` really is, for this process: links above it followed inside the root, its own
  // last part only where `follows`.
  StatusOr<std::string> Place(const std::string& path, bool follows) const;

  const sys::Root& host_;
  sys::Durability durability_;
};

}  // namespace kgpu::change
