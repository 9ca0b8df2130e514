// Whole folders of a host: copied, swapped atomically, removed, linked to. Behind an interface so
// that a test can stop the process at each operation.
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
  // Everything below `from`, except `left_out` and mount points (folders and files): such folders
  // are created empty. Also leaves out devices, pipes and sockets. `to` must not exist. Keeps
  // owners, modes and file times, but not set-user-ID and set-group-ID bits or attributes
  // (capabilities of programs). On a host with SELinux, labels everything so that containers may
  // read and execute it. On the disk when it returns. Errors: FailedPrecondition (not enough
  // space).
  virtual Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
                      const std::string& to) = 0;
  // Checks that nothing is mounted below `tree`, which need not exist. Errors: FailedPrecondition.
  virtual Status CheckUnmounted(const std::string& tree) = 0;
  // Swaps atomically: `tree` is then at `place`, and what was at `place` is at `tree`. Errors:
  // those of CheckUnmounted.
  virtual Status Put(const std::string& tree, const std::string& place) = 0;
  // Not an error if it does not exist. Errors: those of CheckUnmounted: what is mounted is not
  // ours.
  virtual Status Remove(const std::string& tree) = 0;
  // Atomically makes `link` a link to `place`; a relative one, so that it works wherever the host's
  // root is mounted. Creates the folders above it. Errors: FailedPrecondition (there is a file, or
  // a folder that is not empty).
  virtual Status PointTo(const std::string& link, const std::string& place) = 0;
};

class HostTrees final : public Trees {
 public:
  // Free bytes on the disk of a path.
  using FreeBytes = std::function<StatusOr<uint64_t>(const std::string& path)>;

  // `mountinfo` of proc(5), for our namespace; `free_bytes`: empty: from the disk.
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
  // The real location of `path`, for this process: follows links above it inside the root.
  StatusOr<std::string> Place(const std::string& path) const;

  const sys::Root& host_;
  std::string mountinfo_;
  FreeBytes free_bytes_;
};

}  // namespace kgpu::driver_install
