// The few operations that change files of a host, behind an interface so that a test can stop the
// process at each one.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// Larger files are neither read nor changed; files up to this size may be programs.
inline constexpr size_t kMostFileBytes = size_t{64} << 20;
// Mode of journals and of saved texts: they may contain a proxy's password.
inline constexpr mode_t kRootOnly = 0600;

struct Attributes {
  mode_t mode = 0644;
  uid_t uid = 0;
  gid_t gid = 0;
  bool operator==(const Attributes&) const = default;
};

// Paths are below the host's root. Every change happens completely or not at all.
class Disk {
 public:
  virtual ~Disk() = default;
  // An existing file keeps its owner and mode, an existing link stays a link; a new file gets
  // `mode`. Errors: FailedPrecondition (a device, pipe or folder is there), …
  virtual Status Write(const std::string& path, std::string_view bytes, mode_t mode) = 0;
  // As Write, but sets exactly this owner and mode, whatever was there.
  virtual Status Replace(const std::string& path, std::string_view bytes,
                         const Attributes& attributes) = 0;
  // Not an error if there is no such file or link.
  virtual Status Remove(const std::string& path) = 0;
  // Errors: AlreadyExists.
  virtual Status Link(const std::string& path, const std::string& target) = 0;
  // Mode 0755; the folder above must exist. Not an error if the folder exists already.
  virtual Status MakeFolder(const std::string& path) = 0;
  // Leaves a folder alone that is not empty or does not exist.
  virtual Status RemoveFolder(const std::string& path) = 0;
  // Moves a file, or a folder with its content, within one file system; the folder above `to` must
  // exist, and `to` must not. Errors: NotFound, FailedPrecondition (it cannot be moved there).
  virtual Status Move(const std::string& path, const std::string& to) = 0;
  // Removes what killed processes left beside the file.
  virtual Status Tidy(const std::string& path) = 0;
};

class HostDisk final : public Disk {
 public:
  // `durability` applies to all writes: a slow disk does not suit thousands of writes that nobody
  // needs after a power cut.
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
  // The real location of `path`, for this process: follows links above it inside the root, and a
  // link at `path` itself only if `follows`.
  StatusOr<std::string> Place(const std::string& path, bool follows) const;

  const sys::Root& host_;
  sys::Durability durability_;
};

}  // namespace kgpu::change
