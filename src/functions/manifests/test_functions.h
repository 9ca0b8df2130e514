// Functions for the tests of this module.
#pragma once

#include <string>
#include <string_view>

#include "src/functions/spec/function.h"

namespace kgpu::functions {

// A function "hello" with these fields of config.yaml, in YAML's flow style.
Function FunctionWith(std::string_view fields);

}  // namespace kgpu::functions
