// A config.yaml together with the files that it names.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// Reads a whole file of at most `limit` bytes.
using ReadFile = std::function<StatusOr<std::string>(const std::string& path, size_t limit)>;

// As ParseFunctionsFile; in addition, merges the files of `environment_file` into `environment`.
// Their paths are relative to the folder of `path`. As in OpenFx, a later file replaces values of
// an earlier one, and files replace those of `environment`. Errors: those of `read`;
// InvalidArgument.
StatusOr<FunctionsFile> LoadFunctionsFile(const std::string& path, const ReadFile& read);
// The same from this machine's files.
StatusOr<FunctionsFile> LoadFunctionsFile(const std::string& path);

}  // namespace kgpu::functions
