// The config.yaml that commands of `kgpu fn` get with -f.
#pragma once

#include <string>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class Option;
}  // namespace CLI

namespace kgpu::cli {

// -f, --config.
CLI::Option* AddFunctionsFileOption(CLI::App& command, std::string& file, const std::string& help);

// The file with the files that it names; "-" is standard input. Errors: as ReadTextFile;
// InvalidArgument, a line for each problem.
StatusOr<functions::FunctionsFile> ReadFunctionsFile(const std::string& file);

}  // namespace kgpu::cli
