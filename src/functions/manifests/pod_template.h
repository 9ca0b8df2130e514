// The pods of a function. Private to the module.
#pragma once

#include <boost/json/object.hpp>

#include "src/functions/manifests/gpu_choice.h"
#include "src/functions/manifests/objects.h"
#include "src/functions/spec/function.h"

namespace kgpu::functions {

// The labels by which the objects of a function find its pods: they never change.
boost::json::object SelectorLabels(const Function& function);
// These, OpenFx's and the author's.
boost::json::object FunctionLabels(const Function& function);

// "spec.template" of the Deployment, with its hash among the annotations.
boost::json::object PodTemplate(const Function& function, const ManifestOptions& options,
                                const GpuChoice& gpus);

}  // namespace kgpu::functions
