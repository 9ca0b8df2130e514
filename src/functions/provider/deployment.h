// A function as it was deployed here, and the file that keeps it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct Deployment {
  Function function{};
  std::string identity{};  // stays the same until it is deleted; empty: an older kgpu created it
  std::string image_id{};  // the image's content when it was deployed
  WallTime deployed{};     // in whole seconds
  // Of all that a replica cannot change while it runs: replicas with another hash are replaced.
  std::string hash{};
  bool operator==(const Deployment&) const = default;
};

// Fills in the hash.
Deployment MakeDeployment(Function function, std::string image_id, WallTime now);

inline constexpr size_t kMaxDeploymentBytes = size_t{2} << 20;

std::string PrintDeployment(const Deployment& deployment);
// Errors: InvalidArgument: `where` and what is wrong.
StatusOr<Deployment> ParseDeployment(std::string_view text, std::string_view where);

}  // namespace kgpu::functions
