#include "src/cli/driver.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "src/cli/driver_install.h"
#include "src/cli/driver_request.h"
#include "src/cli/driver_view.h"
#include "src/cli/output.h"
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
                   host::OpenDriverRoot(options.driver.host_root, "", ""));
  sys::RealRunner runner;
  driver::FactsOptions wanted;
  wanted.kernel = options.driver.kernel;
  wanted.needs_kernel = false;
  ASSIGN_OR_RETURN(const driver::HostFacts facts,
                   driver::GatherHostFacts(root, runner, RealClock(), wanted));
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

void AddPlanVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<DriverStatusOptions>();
  CLI::App* verb = group.add_subcommand(
      "plan", "Which driver suits this host, and every step that brings it here; changes nothing");
  verb->footer(
      "Prints what would be done, each step with the page it follows, then what speaks against "
      "it. Exits 7 when something does.\n\n"
      "  kgpu driver plan\n"
      "  kgpu driver plan --cuda 12.4                        a driver that has all of CUDA 12.4\n"
      "  kgpu driver plan --branch 580 --source nvidia       of NVIDIA's repository\n"
      "  kgpu driver plan --source NVIDIA-Linux-x86_64-580.95.05.run\n"
      "  kgpu driver plan --host-root /mnt/image --kernel 6.1.0-56-amd64 --gpu ampere\n"
      "  kgpu driver plan --output json | jq -r '.steps[] | .id, .lines[]'");
  AddDriverHostFlags(*verb, options->driver);
  AddDriverWishFlags(verbs, *verb, options->driver);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return RunPlan(*options); });
}

void AddStatusVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<DriverStatusOptions>();
  CLI::App* verb = group.add_subcommand(
      "status", "The driver that is here: version, where from, what is loaded, and for which GPUs");
  verb->footer(
      "Exits 3 when there is no driver, 7 when an installation is not finished.\n\n"
      "  kgpu driver status\n"
      "  kgpu driver status --output json");
  AddDriverHostFlags(*verb, options->driver);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return RunDriverStatus(*options); });
}

}  // namespace

void AddDriverVerbs(VerbRegistrar& verbs) {
  CLI::App* group = verbs.app().add_subcommand(
      "driver", "NVIDIA's driver on this host: which one, how it comes here, what is here");
  group->require_subcommand(1);
  group->footer(
      "Exits 3 when there is nothing to tell of or to take back, 6 when the host must be changed\n"
      "first, 7 when something speaks against it, 8 when a restart or a person is waited for.\n\n"
      "  kgpu driver plan --cuda 12.4             which driver suits, and every step to it\n"
      "  kgpu driver install --cuda 12.4          ... done; or the host is as it was\n"
      "  kgpu driver status                       what is here\n"
      "  kgpu driver verify                       is it whole?\n"
      "  kgpu driver remove                       as it was before");
  AddPlanVerb(*group, verbs);
  AddStatusVerb(*group, verbs);
  AddDriverInstallVerbs(*group, verbs);
}

}  // namespace kgpu::cli
