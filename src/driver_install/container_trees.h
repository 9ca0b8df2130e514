// Whole folders of a host: copied, put in place of another at once, taken away, pointed to. A seam
// of its own so that a test can die at every one of them.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/sys/root.h"

namespace kgpu::driver_install {

// Paths are below the host's root, and not "/".
class Trees {
 public:
  virtual ~Trees() = default;
  // Everything below `from` but for what is `left_out`, and what lies on other file systems: such
  // folders are made empty. Devices, pipes and sockets are left out too. `to` is not there.
  // Owners, modes and the times of files are kept; attributes (capabilities of programs) are not.
  // Where the host has SELinux, all is labelled so that containers may read and run it. On the disk
  // when it returns.
  virtual Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
                      const std::string& to) = 0;
  // `tree` is at `place` afterwards, at once; what was at `place` is at `tree`.
  virtual Status Put(const std::string& tree, const std::string& place) = 0;
  // One that is not there is no error.
  virtual Status Remove(const std::string& tree) = 0;
  // `link` is a link to `place` afterwards, at once; a relative one, so that it holds wherever the
  // host's root is seen. Folders above it are made. Errors: FailedPrecondition (a folder with
  // something in it is there, or a file).
  virtual Status PointTo(const std::string& link, const std::string& place) = 0;
};

class HostTrees final : public Trees {
 public:
  explicit HostTrees(const sys::Root& host) : host_(host) {}
  Status Copy(const sys::Root& from, const std::vector<std::string>& left_out,
              const std::string& to) override;
  Status Put(const std::string& tree, const std::string& place) override;
  Status Remove(const std::string& tree) override;
  Status PointTo(const std::string& link, const std::string& place) override;

 private:
  // Where `path` really is, for this process: links above it followed inside the root.
  StatusOr<std::string> Place(const std::string& path) const;

  const sys::Root& host_;
};

}  // namespace kgpu::driver_install
