#include "src/cli/driver/driver_request.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <utility>

#include "src/cli/base/options.h"
#include "src/cli/base/progress.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/report/print.h"
#include "src/setup/driver/other_request.h"
#include "src/setup/driver/view.h"
#include "src/setup/driver_install/former.h"
#include "src/setup/driver_install/journal.h"
#include "src/setup/driver_install/replacing.h"

namespace kgpu::cli {
namespace {

constexpr char kWanted[] = "Requested driver";

// Where kgpu has installed a driver, options that are not given keep its values, if those fit.
StatusOr<driver::Plan> PlanInsteadOf(const driver::Plan* ours, const driver::HostFacts& facts,
                                     const driver::Request& request) {
  if (ours != nullptr) {
    auto kept = driver::PlanDriver(facts, driver::KeepRequest(request, *ours));
    if (kept.ok()) {
      kept->why.push_back(fmt::format(
          "options not given keep the values of driver {}, which kgpu installed", ours->version));
      return kept;
    }
  }
  return driver::PlanDriver(facts, request);
}

// Asks the package manager, unless it is not to be asked.
void AddPackageFindings(const DriverOptions& options, const host::DriverRoot& root,
                        sys::ProgramRunner& runner, DriverPlan& made) {
  if (!options.skips_packages) {
    if (const auto manager = packages::FindPackageManager(root.host, runner); manager.ok()) {
      std::ranges::move(driver_install::CompleteRemoval(made.plan, **manager, made.facts.packages),
                        std::back_inserter(made.findings));
    }
    std::ranges::move(driver::CheckPackages(made.facts, made.plan, root.host, runner),
                      std::back_inserter(made.findings));
  }
  report::SortWorstFirst(made.findings);
}

}  // namespace

void AddDriverRootFlag(CLI::App& command, DriverOptions& options) {
  AddHostRootOption(command, options.host_root,
                    "Folder with the host's files: / or an image that is being built");
}

void AddDriverHostFlags(CLI::App& command, DriverOptions& options) {
  AddDriverRootFlag(command, options);
  AddValue(
      command, "--kernel", options.kernel, "RELEASE",
      "Kernel release to build modules for (default: the running one, or the newest installed)");
}

void AddDriverLookFlags(CLI::App& command, DriverOptions& options) {
  AddDriverHostFlags(command, options);
  AsPath(AddValue(command, "--driver-root", options.driver_root, "DIR",
                  "Folder with the driver's files (default: the host root, or a driver container's "
                  "folder in it)"))
      ->envname("KGPU_DRIVER_ROOT");
}

void AddDriverDemandFlags(CommandRegistrar& registrar, CLI::App& command, DriverOptions& options) {
  AddValue(command, "--cuda", options.cuda, "VERSION",
           "Minimum CUDA version the driver must support, e.g. 12.4")
      ->group(kWanted);
  CLI::Option* version = AddValue(command, "--version", options.version, "VERSION",
                                  "Full driver version, e.g. 580.95.05")
                             ->group(kWanted);
  AddValue(command, "--branch", options.branch, "BRANCH", "Driver branch, e.g. 580")
      ->group(kWanted)
      ->excludes(version);
  AddValue(command, "--module", options.module_kind, "KIND",
           "Kernel modules: open, proprietary or auto")
      ->group(kWanted);
  registrar.OfferWords(command, {.flag = "--module", .words = {"open", "proprietary", "auto"}});
}

void AddDriverRequestFlags(CommandRegistrar& registrar, CLI::App& command, DriverOptions& options) {
  AddDriverDemandFlags(registrar, command, options);
  AddValue(command, "--source", options.source, "SOURCE",
           "Origin: distribution, nvidia (its repository), precompiled, auto, or a file on the "
           "host: FILE.run, FILE.deb, FILE.rpm")
      ->group(kWanted);
  AddValue(command, "--gpu", options.gpu, "GENERATION",
           fmt::format("Plan for GPUs that are not installed yet: {}",
                       Join(driver::GenerationNames(), ", ")))
      ->group(kWanted);
  AddValue(command, "--driver-toolkit", options.toolkit_image, "IMAGE",
           "RHCOS: Driver Toolkit image of the release, used to build FILE.run")
      ->group(kWanted);
  command.add_flag("--display", options.has_display, "Also install display (X, Wayland) support")
      ->group(kWanted);
  command
      .add_flag("--no-restore", options.gives_up,
                "Replace an existing driver even if it cannot be restored")
      ->group(kWanted);
  // Its name for a release longer.
  command.add_flag("--no-way-back", options.gives_up)->group("");
  command
      .add_flag("--offline", options.skips_packages,
                "Do not ask the package manager whether the packages are available")
      ->group(kWanted);
  registrar.OfferWords(
      command, {.flag = "--source", .words = {"distribution", "nvidia", "precompiled", "auto"}});
  registrar.OfferWords(command, {.flag = "--gpu", .words = driver::GenerationNames()});
}

StatusOr<driver::Request> DriverRequestOf(const DriverOptions& options) {
  driver::Request request;
  request.cuda = options.cuda;
  request.version = options.version.empty() ? options.branch : options.version;
  request.is_branch = options.version.empty();
  ASSIGN_OR_RETURN(request.kind, driver::ParseModuleKind(options.module_kind));
  ASSIGN_OR_RETURN(request.source, driver::ParseSource(options.source));
  request.toolkit_image = options.toolkit_image;
  request.has_display = options.has_display;
  request.gives_up = options.gives_up;
  request.has_headers = options.has_headers;
  if (!options.gpu.empty()) {
    ASSIGN_OR_RETURN(request.generation, driver::ParseGeneration(options.gpu));
  }
  return request;
}

StatusOr<driver::HostFacts> DriverFactsOf(const DriverOptions& options,
                                          const host::DriverRoot& root,
                                          sys::ProgramRunner& runner) {
  driver::FactsOptions wanted;
  wanted.kernel = options.kernel;
  wanted.file = driver::IsFile(options.source) ? options.source : "";
  return driver::GatherHostFacts(root, runner, wanted);
}

StatusOr<DriverPlan> MakeDriverPlan(const DriverOptions& options, const host::DriverRoot& root,
                                    sys::ProgramRunner& runner) {
  const Progress progress("planning the driver");
  ASSIGN_OR_RETURN(driver::HostFacts facts, DriverFactsOf(options, root, runner));
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(root.host));
  using driver_install::Phase;
  if (journal && journal->phase == Phase::kInstalled) {
    driver_install::ForgetDriver(*journal, facts);
  }
  if (options.gives_up) {
    facts.former.clear();  // need not be available any more
  }
  const bool keeps =
      journal && (journal->phase == Phase::kInstalled || journal->phase == Phase::kRemoved);
  return PlanFor(std::move(facts), options, root, runner, keeps ? &journal->plan : nullptr);
}

StatusOr<DriverPlan> PlanFor(driver::HostFacts facts, const DriverOptions& options,
                             const host::DriverRoot& root, sys::ProgramRunner& runner,
                             const driver::Plan* ours) {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options));
  DriverPlan made;
  made.facts = std::move(facts);
  ASSIGN_OR_RETURN(made.plan, PlanInsteadOf(ours, made.facts, request));
  made.findings = driver::CheckFacts(made.facts, made.plan, request.gives_up);
  AddPackageFindings(options, root, runner, made);
  return made;
}

void NoteFindings(const driver::Findings& findings) {
  if (!findings.empty()) {
    PrintNote(Trim(report::FindingsText(findings, {.has_color = TakesColor(STDERR_FILENO)})));
  }
}

StatusOr<ExitCode> PrintDriverPlan(const DriverPlan& made, OutputFormat format) {
  if (format == OutputFormat::kTable) {
    RETURN_IF_ERROR(PrintOut(driver::PlanText(made.plan)));
    NoteFindings(made.findings);
  } else {
    boost::json::object json = driver::PlanJson(made.plan);
    json["findings"] = report::FindingsJson(made.findings);
    RETURN_IF_ERROR(PrintOut(Render(json, format)));
  }
  return ExitCodeOf(report::WorstOf(made.findings));
}

}  // namespace kgpu::cli
