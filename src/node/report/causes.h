// Reports each cause once: eight GPUs behind one silent driver have one problem.
#pragma once

#include <set>
#include <string>

#include "src/gpu/device/snapshot.h"

namespace kgpu::report {

class Causes {
 public:
  // The driver's own line counts as reported.
  explicit Causes(const device::Driver& driver) { reported_.insert(driver.reason); }

  // Whether the cause is new; after this it no longer is.
  bool IsNew(const std::string& cause) { return reported_.insert(cause).second; }
  // The cause itself the first time, then "as above".
  std::string Next(const std::string& cause) {
    return cause.empty() || IsNew(cause) ? cause : "as above";
  }

 private:
  std::set<std::string> reported_;
};

}  // namespace kgpu::report
