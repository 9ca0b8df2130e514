#include "src/cli/version.h"

#include <CLI/CLI.hpp>

#include "src/cli/output.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

std::string VersionNumber() {
  return KGPU_VERSION;
}

std::string VersionText() {
  return fmt::format("kgpu {}", VersionNumber());
}

void AddVersionVerb(VerbRegistrar& verbs) {
  CLI::App* verb = verbs.app().add_subcommand("version", "Print the version");
  verbs.OnRun(*verb, []() -> StatusOr<ExitCode> {
    RETURN_IF_ERROR(PrintOut(VersionText() + "\n"));
    return ExitCode::kOk;
  });
}

}  // namespace kgpu::cli
