#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/verbs.h"

namespace kgpu::cli {

// Only for --help and completion: main.cc reads `kgpu help WORDS` as `kgpu WORDS --help`.
void AddHelpCommand(VerbRegistrar& verbs) {
  CLI::App* command = verbs.app().add_subcommand("help", "Explain a command, as --help does");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The words of the command; none: all of kgpu");
  command->footer("  kgpu help\n  kgpu help driver install");
  verbs.OnRun(*command, [words]() -> StatusOr<ExitCode> { return ExitCode::kOk; });
}

}  // namespace kgpu::cli
