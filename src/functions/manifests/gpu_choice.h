// Which resource a function's pods request for their GPUs, and on which nodes. Private to the
// module.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <vector>

#include "src/functions/manifests/objects.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct GpuChoice {
  std::string resource{};          // empty: no GPUs
  boost::json::object affinity{};  // of the pods; empty: none
  std::vector<std::string> notes{};
};

// Errors: FailedPrecondition: no pool divides GPUs into parts of such a size.
StatusOr<GpuChoice> ChooseGpus(const GpuRequest& request, const ManifestOptions& options);

}  // namespace kgpu::functions
