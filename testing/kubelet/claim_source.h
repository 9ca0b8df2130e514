// The API server's objects for DRA, as far as the kubelet needs them: a test or a stub of the API
// server implements it.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// Called on the kubelet's loop; must not wait.
class ClaimSource {
 public:
  virtual ~ClaimSource() = default;

  // The ResourceClaim of resource.k8s.io/v1, as JSON. Errors: NotFound, and any other that a
  // server has.
  virtual StatusOr<std::string> GetClaim(const std::string& name_space,
                                         const std::string& name) = 0;
  // Deletes the ResourceSlices of this node: those of `driver`, or all if it is empty.
  virtual void WipeSlices(const std::string& driver) = 0;
};

}  // namespace kgpu::kubelet
