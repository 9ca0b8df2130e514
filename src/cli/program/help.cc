#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/base/commands.h"

namespace kgpu::cli {

// Only for --help and completion: main.cc reads `kgpu help WORDS` as `kgpu WORDS --help`.
void AddHelpCommand(CommandRegistrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand("help", "Explain a command, as --help does");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The words of the command; none: all of kgpu");
  command->footer("  kgpu help\n  kgpu help driver install");
  registrar.OnRun(*command, [words]() -> StatusOr<ExitCode> { return ExitCode::kOk; });
}

}  // namespace kgpu::cli
