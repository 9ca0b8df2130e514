// config.yaml: the functions of a folder, in OpenFx's format and with fields that it lacks.
// docs/reference/functions-file.md describes every field.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"

namespace kgpu::functions {

inline constexpr size_t kMaxFunctionsFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxFunctions = 256;

// Reads YAML, or JSON if `file` ends with .json. Files that `environment_file` names are not read:
// LoadFunctionsFile of load.h does. Errors: InvalidArgument, a line for each problem, 20 at most:
// "file:line:column: field: what is wrong: fix".
StatusOr<FunctionsFile> ParseFunctionsFile(std::string_view text, std::string_view file);

// Null if there is none of this name.
const Function* FindFunction(const FunctionsFile& file, std::string_view name);
// The only function if `name` is empty. Errors: NotFound, InvalidArgument (several), with the
// names.
StatusOr<Function> SelectFunction(const FunctionsFile& file, std::string_view name);

// As ParseFunctionsFile reads it, with all defaults. GPUs are in limits, whichever field had them.
boost::json::value FunctionsFileTree(const FunctionsFile& file);
std::string PrintFunctionsFile(const FunctionsFile& file, doc::Format format = doc::Format::kYaml);

}  // namespace kgpu::functions
