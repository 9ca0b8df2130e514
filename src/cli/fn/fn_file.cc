#include "src/cli/fn/fn_file.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "src/cli/base/config_file.h"
#include "src/cli/base/options.h"
#include "src/functions/spec/load.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

CLI::Option* AddFunctionsFileOption(CLI::App& command, std::string& file, const std::string& help) {
  return AddValue(command, "-f,--config", file, "FILE", help);
}

StatusOr<functions::FunctionsFile> ReadFunctionsFile(const std::string& file) {
  const std::string name = file == "-" ? "stdin" : file;
  return functions::LoadFunctionsFile(
      name, [&](const std::string& path, size_t limit) -> StatusOr<std::string> {
        ASSIGN_OR_RETURN(TextFile text, ReadTextFile(path == name ? file : path, limit));
        return std::move(text.text);
      });
}

}  // namespace kgpu::cli
