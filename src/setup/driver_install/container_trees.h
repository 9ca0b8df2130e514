// Whole folders of a host: copied, put in place of another at once, taken away, pointed to. A seam
// of its own so that a test can die at every one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::driver_install {

// Paths are below the host's root, and not "/".
class Trees {
 public:
  virtual ~Trees() = default;
  // Everything below `from` but for what is `left_out`, and what is mounted, files as well: such
  // folders are made empty. Devices, pipes and sockets are left out too. `to` is not there.
  // Owners, modes and the times of files are kept; set-user-ID and set-group-ID bits of files and
  // attributes (capabilities of programs) are not. Where the host has SELinux, all is labelled so
  // that containers may read and run it. On the disk when it returns. Errors: FailedPrecondition
  // (it has no room there).
  virtual Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
                      const std::string& to) = 0;
  // Nothing is mounted below `tree`, which may not be there. Errors: FailedPrecondition.
  virtual Status CheckUnmounted(const std::string& tree) = 0;
  // `tree` is at `place` afterwards, at once; what was at `place` is at `tree`. Errors: those of
  // CheckUnmounted.
  virtual Status Put(const std::string& tree, const std::string& place) = 0;
  // One that is not there is no error. Errors: those of CheckUnmounted: what is mounted is not
  // ours.
  virtual Status Remove(const std::string& tree) = 0;
  // `link` is a link to `place` afterwards, at once; a relative one, so that it holds wherever the
  // host's root is seen. Folders above it are made. Errors: FailedPrecondition (a folder with
  // something in it is there, or a file).
  virtual Status PointTo(const std::string& link, const std::string& place) = 0;
};

class HostTrees final : public Trees {
 public:
  // Bytes that are free on the disk of a path.
  using FreeBytes = std::function<StatusOr<uint64_t>(const std::string& path)>;

  // `mountinfo` of proc(5), for the namespace we are in; `free_bytes`: empty: as the disk says.
  explicit HostTrees(const sys::Root& host, std::string mountinfo = "/proc/self/mountinfo",
                     FreeBytes free_bytes = {})
      : host_(host), mountinfo_(std::move(mountinfo)), free_bytes_(std::move(free_bytes)) {}
  Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
              const std::string& to) override;
  Status CheckUnmounted(const std::string& tree) override;
  Status Put(const std::string& tree, const std::string& place) override;
  Status Remove(const std::string& tree) override;
  Status PointTo(const std::string& link, const std::string& place) override;

 private:
  // Where `path` really is, for this process: links above it followed inside the root.
  StatusOr<std::string> Place(const std::string& path) const;

  const sys::Root& host_;
  std::string mountinfo_;
  FreeBytes free_bytes_;
};

}  // namespace kgpu::driver_install
