#include "src/cli/base/version.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

std::string VersionNumber() {
  return KGPU_VERSION;
}

std::string VersionText() {
  return fmt::format("kgpu {}", VersionNumber());
}

void AddVersionCommand(CommandRegistrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand("version", "Print the version");
  command->footer("  kgpu version\n  kgpu version --output json");
  auto output = std::make_shared<std::string>("table");
  AddOutputOption(*command, *output);
  registrar.OnRun(*command, [output]() -> StatusOr<ExitCode> {
    ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(*output));
    return OkOr(PrintAs(format, VersionText() + "\n", {{"version", VersionNumber()}}));
  });
}

}  // namespace kgpu::cli
