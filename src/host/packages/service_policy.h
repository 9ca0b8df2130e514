// Keeps Debian packages from starting their services below a root that is not ours.
#pragma once

#include <memory>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::packages {

// Removes a policy file that a killed run of ours left; recognises it by its text. Left in place,
// it would silently keep services from starting. Call it only while no other kgpu works on the
// host. Errors: those of removing the file.
Status RemoveOurPolicy(const sys::Root& host);

// While it exists, /usr/sbin/policy-rc.d below the root denies every service. A file that is there
// already was put there on purpose and stays; one that a killed run of ours left is recognised by
// its text and removed with this object. Source: invoke-rc.d(8), "policy-rc.d".
class ServicePolicy {
 public:
  // Errors: those of writing the file.
  static StatusOr<std::unique_ptr<ServicePolicy>> Impose(const sys::Root& host);

  // `ours` empty: there is nothing to remove.
  explicit ServicePolicy(std::string ours) : ours_(std::move(ours)) {}
  ~ServicePolicy();
  ServicePolicy(const ServicePolicy&) = delete;
  ServicePolicy& operator=(const ServicePolicy&) = delete;

 private:
  std::string ours_;
};

// While it exists, packages start no service of this root. On the running system they do, and a
// file that a killed run left there to prevent it is removed. Errors: as Impose.
StatusOr<std::unique_ptr<ServicePolicy>> QuietServices(const sys::Root& host);

}  // namespace kgpu::packages
