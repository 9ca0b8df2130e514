// What the functions of a config.yaml come to.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/functions/spec/function.h"

namespace kgpu::cli {

std::string FunctionsTable(const functions::FunctionsFile& file);
// With all defaults, but without credentials.
boost::json::value FunctionsJson(functions::FunctionsFile file);

}  // namespace kgpu::cli
