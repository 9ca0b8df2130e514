// Keeps packages of Debian from starting their services below a root that is not ours.
#pragma once

#include <memory>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::packages {

// Takes away one that a killed run of ours left, known by its text: services would not start on a
// system that runs, with no word of why. Only while no other kgpu works on the host. Errors: those
// of removing the file.
Status RemoveOurPolicy(const sys::Root& host);

// While it lives, /usr/sbin/policy-rc.d below the root says no to every service. One that is there
// already is somebody's request and stays; one that a killed run of ours left is known by its text
// and goes with this object. Source: invoke-rc.d(8), "policy-rc.d".
class ServicePolicy {
 public:
  // Errors: those of writing the file.
  static StatusOr<std::unique_ptr<ServicePolicy>> Impose(const sys::Root& host);

  // `ours` empty: nothing is to be taken away.
  explicit ServicePolicy(std::string ours) : ours_(std::move(ours)) {}
  ~ServicePolicy();
  ServicePolicy(const ServicePolicy&) = delete;
  ServicePolicy& operator=(const ServicePolicy&) = delete;

 private:
  std::string ours_;
};

// As long as it lives no service of this root is started by a package; those of the running system
// are, and what a killed run left there to keep them from it goes. Errors: as Impose.
StatusOr<std::unique_ptr<ServicePolicy>> QuietServices(const sys::Root& host);

}  // namespace kgpu::packages
