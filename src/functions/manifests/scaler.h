// The object that scales a function's Deployment in the gateway's place. Private to the module.
#pragma once

#include <boost/json/object.hpp>

#include <optional>

#include "src/functions/manifests/objects.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// apiVersion, kind and spec; nothing if the gateway scales the function itself.
// Errors: FailedPrecondition: KEDA is asked for, and there is no address of Prometheus.
StatusOr<std::optional<boost::json::object>> ScalerOf(const Function& function,
                                                      const ManifestOptions& options);

}  // namespace kgpu::functions
