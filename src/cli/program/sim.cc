#include "src/cli/program/sim.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "src/cli/base/commands.h"
#include "src/cli/base/host_options.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

Status RunSim(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  const std::string program = (std::filesystem::path(folder) / "kgpu-sim").string();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};  // execv does not write to them
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  if (errno == ENOENT) {
    return NotFound(
        "{}: not found: install kgpu-sim beside kgpu to simulate hosts (it is part of the build, "
        "never of a production image)",
        program);
  }
  return ErrnoStatus(errno, fmt::format("start {}", program));
}

void AddSimCommand(CommandRegistrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "sim", "Create simulated GPU hosts and inject faults (see kgpu sim --help)");
  command->footer(
      "  kgpu sim create /tmp/host --profile 8xA100-SXM4-80GB\n"
      "  kgpu sim xid /tmp/host 3 79\n"
      "  kgpu sim delete /tmp/host");
  // Every word after "sim" is kgpu-sim's, --help too.
  command->prefix_command();
  command->set_help_flag();
  registrar.OnRun(*command,
                  [command]() -> StatusOr<ExitCode> { return RunSim(command->remaining()); });
}

}  // namespace kgpu::cli
