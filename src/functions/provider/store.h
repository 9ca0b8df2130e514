// The functions that are deployed here, a file each: written and fsynced before a deployment is
// acknowledged. May be used on any thread, but by one at a time.
#pragma once

#include <string>
#include <vector>

#include "src/functions/provider/deployment.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::functions {

class Store {
 public:
  // `folder`: "/var/lib/kgpu/functions/deployed"; made by Open.
  explicit Store(std::string folder) : folder_(std::move(folder)) {}

  struct Found {
    std::vector<Deployment> deployments{};
    // Files that could not be read: each was renamed to "<name>.bad", and is not looked at again.
    std::vector<std::string> problems{};
  };
  // Errors: those of making and listing the folder.
  StatusOr<Found> Open() const;
  // Errors: those of StateFile.
  Status Save(const Deployment& deployment) const;
  Status Remove(const std::string& name) const;

 private:
  sys::StateFile FileOf(const std::string& name) const;

  const std::string folder_;
};

}  // namespace kgpu::functions
