// The file with the credentials that a registry demands.
#pragma once

#include <string>

#include "src/functions/spec/function.h"

namespace kgpu::functions {

// containers-auth.json(5) with one entry: `registry_auth` of config.yaml, for the registry of the
// function's image.
std::string AuthFileText(const Function& function);

}  // namespace kgpu::functions
