#include "src/cli/base/commands.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/driver/driver_request.h"
#include "src/cli/driver/driver_view.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver/view.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {
namespace {

struct DriverStatusOptions {
  DriverOptions driver;
  std::string output = "table";
};

StatusOr<ExitCode> RunPlan(const DriverStatusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root,
                   host::OpenDriverRoot(options.driver.host_root, "", ""));
  sys::RealRunner runner;
  ASSIGN_OR_RETURN(const DriverPlan made, MakeDriverPlan(options.driver, root, runner));
  return PrintDriverPlan(made, format);
}

StatusOr<ExitCode> RunDriverStatus(const DriverStatusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root,
                   host::OpenDriverRoot(options.driver.host_root, options.driver.driver_root, ""));
  sys::RealRunner runner;
  driver::FactsOptions wanted;
  wanted.kernel = options.driver.kernel;
  wanted.needs_kernel = false;
  ASSIGN_OR_RETURN(const driver::HostFacts facts, driver::GatherHostFacts(root, runner, wanted));
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(root.host));
  if (format == OutputFormat::kTable) {
    RETURN_IF_ERROR(PrintOut(driver::StatusText(facts)));
    if (journal) {
      RETURN_IF_ERROR(PrintOut(fmt::format("{:<14}{}\n", "installation", JournalText(*journal))));
    }
  } else {
    boost::json::object json = driver::StatusJson(facts);
    json["installation"] = journal ? boost::json::value(JournalJson(*journal)) : nullptr;
    RETURN_IF_ERROR(PrintOut(Render(json, format)));
  }
  if (journal && journal->phase != driver_install::Phase::kInstalled) {
    return ExitCode::kUnhealthy;
  }
  return facts.existing == driver::Existing::kNone ? ExitCode::kNotFound : ExitCode::kOk;
}

void AddPlanCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<DriverStatusOptions>(
      group, "plan", "Show the driver that suits this host and all steps to install it", &RunPlan);
  command.footer(
      "Prints each step with the documentation it follows, then the findings. Changes nothing. "
      "Exits 7 with an error, 9 with warnings only.\n"
      "\n"
      "  kgpu driver plan\n"
      "  kgpu driver plan --cuda 12.4                        a driver that fully supports CUDA "
      "12.4\n"
      "  kgpu driver plan --branch 580 --source nvidia       from NVIDIA's repository\n"
      "  kgpu driver plan --source NVIDIA-Linux-x86_64-580.95.05.run\n"
      "  kgpu driver plan --host-root /mnt/image --kernel 6.1.0-56-amd64 --gpu ampere\n"
      "  kgpu driver plan --output json | jq -r '.steps[] | .id, .lines[]'");
  AddDriverHostFlags(command, options.driver);
  AddDriverRequestFlags(registrar, command, options.driver);
  AddOutputOption(command, options.output);
}

void AddStatusCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<DriverStatusOptions>(
      group, "status",
      "Show the installed driver: version, origin, loaded modules and supported GPUs",
      &RunDriverStatus);
  command.footer(
      "Exits 3 when there is no driver, 7 when an installation is unfinished.\n"
      "\n"
      "  kgpu driver status\n"
      "  kgpu driver status --driver-root /run/nvidia/driver     of a driver container\n"
      "  kgpu driver status --output json");
  AddDriverLookFlags(command, options.driver);
  AddOutputOption(command, options.output);
}

}  // namespace

void AddDriverCommands(CommandRegistrar& registrar) {
  CLI::App& group =
      registrar.AddGroup("driver", "Plan, install, verify and remove the NVIDIA driver");
  group.footer(
      "Exits 3 when there is no driver to report or remove, 6 when the host must be changed "
      "first,\n"
      "7 when a finding blocks the plan, 8 when it waits for a reboot or for your action.\n"
      "\n"
      "  kgpu driver plan --cuda 12.4             show the driver that suits, and all steps\n"
      "  kgpu driver install --cuda 12.4          run the steps; undo them if one fails\n"
      "  kgpu driver status                       show the installed driver\n"
      "  kgpu driver verify                       check that it is complete\n"
      "  kgpu driver remove                       remove it and restore the host");
  AddPlanCommand(group, registrar);
  AddStatusCommand(group, registrar);
  AddDriverInstallCommands(group, registrar);
}

}  // namespace kgpu::cli
