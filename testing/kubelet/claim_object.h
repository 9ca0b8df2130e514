// The parts of a ResourceClaim that the kubelet reads.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

struct ClaimObject {
  std::string name;
  std::string name_space;
  std::string uid;
  bool is_allocated = false;
  std::set<std::string> drivers;       // of the allocated devices
  std::set<std::string> reserved_for;  // UIDs of pods
  std::set<std::string> owners;        // UIDs
};

// Parses a ResourceClaim of resource.k8s.io/v1. `where` is only used in errors. Errors:
// InvalidArgument.
StatusOr<ClaimObject> ParseClaimObject(std::string_view text, const std::string& where);

}  // namespace kgpu::kubelet
