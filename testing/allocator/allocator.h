// Stands in for Kubernetes' scheduler where it allocates resource claims.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::allocator {

// Objects of resource.k8s.io/v1.
struct Cluster {
  std::vector<boost::json::value> classes{};
  std::vector<boost::json::value> slices{};
  std::vector<boost::json::value> claims{};  // allocated ones count as in use
};

// status.allocation of `claim` on `node`. Share ids are numbered through all claims. Errors:
// FailedPrecondition with the reason for each device; those of claim::ReadClaimSpec.
StatusOr<boost::json::object> Allocate(const boost::json::value& claim, const Cluster& cluster,
                                       const std::string& node);

}  // namespace kgpu::allocator
