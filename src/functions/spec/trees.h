// Values of a Function as JSON trees, in the form that readers.h reads. Private to the module.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <string>

#include "src/functions/spec/function.h"

namespace kgpu::functions {

std::string MemoryText(int64_t bytes);

// Count, model and memory.
boost::json::object GpuTree(const GpuRequest& gpu);
// OwnFields() with their names.
void AddOwnFields(const Function& function, boost::json::object& out);
boost::json::object ReplicasTree(const Scaling& scaling);

}  // namespace kgpu::functions
