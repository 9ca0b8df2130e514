#include "src/cli/driver_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/host/packages/package_manager.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/view.h"
#include "src/setup/driver/wish.h"
#include "src/setup/driver_install/journal.h"
#include "src/setup/driver_install/replacing.h"

namespace kgpu::cli {
namespace {

constexpr char kWanted[] = "What is wanted";

// Where kgpu has installed a driver, what is not asked for stays as it is, if that fits.
StatusOr<driver::Plan> PlanBesideOurs(const driver::HostFacts& facts,
                                      const driver::Request& request) {
  if (facts.ours) {
    auto kept = driver::PlanDriver(facts, driver::KeepWish(request, *facts.ours));
    if (kept.ok()) {
      kept->why.push_back(fmt::format("what is not asked for stays as it is in driver {} by kgpu",
                                      facts.ours->version));
      return kept;
    }
  }
  return driver::PlanDriver(facts, request);
}

}  // namespace

void AddDriverRootFlag(CLI::App& verb, DriverOptions& options) {
  verb.add_option("--host-root", options.host_root,
                  "Folder where the host's files are seen: / or an image that is being made")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR");
}

void AddDriverHostFlags(CLI::App& verb, DriverOptions& options) {
  AddDriverRootFlag(verb, options);
  verb.add_option("--kernel", options.kernel,
                  "Release the module is for (default: the running one, or the newest installed)")
      ->type_name("RELEASE");
}

void AddDriverDemandFlags(VerbRegistrar& verbs, CLI::App& verb, DriverOptions& options) {
  verb.add_option("--cuda", options.cuda, "The least CUDA that the driver must have, e.g. 12.4")
      ->type_name("VERSION")
      ->group(kWanted);
  CLI::Option* version =
      verb.add_option("--version", options.version, "A whole version of the driver, e.g. 580.95.05")
          ->type_name("VERSION")
          ->group(kWanted);
  verb.add_option("--branch", options.branch, "A branch of the driver, e.g. 580")
      ->type_name("BRANCH")
      ->group(kWanted)
      ->excludes(version);
  verb.add_option("--module", options.module_kind, "Kernel modules: open, proprietary or auto")
      ->type_name("KIND")
      ->group(kWanted)
      ->capture_default_str();
  verbs.OfferWords(verb, {.flag = "--module", .words = {"open", "proprietary", "auto"}});
}

void AddDriverWishFlags(VerbRegistrar& verbs, CLI::App& verb, DriverOptions& options) {
  AddDriverDemandFlags(verbs, verb, options);
  verb.add_option("--source", options.source,
                  "Where from: distribution, nvidia (its repository), precompiled, auto, or a file "
                  "of the host: FILE.run, FILE.deb, FILE.rpm")
      ->type_name("SOURCE")
      ->group(kWanted)
      ->capture_default_str();
  verb.add_option("--gpu", options.gpu,
                  fmt::format("Plan for GPUs that are not here yet: {}",
                              Join(driver::GenerationNames(), ", ")))
      ->type_name("GENERATION")
      ->group(kWanted);
  verb.add_option("--driver-toolkit", options.toolkit_image,
                  "RHCOS: the Driver Toolkit image of its release, in which FILE.run is built")
      ->type_name("IMAGE")
      ->group(kWanted);
  verb.add_flag("--display", options.has_display,
                "A display is to be drawn on: its packages, and a file for the X server")
      ->group(kWanted);
  verb.add_flag("--no-way-back", options.gives_up,
                "Another driver gives way also where it could not be brought back")
      ->group(kWanted);
  verb.add_flag("--offline", options.skips_packages,
                "Do not ask the package manager whether the packages can be had")
      ->group(kWanted);
  verbs.OfferWords(
      verb, {.flag = "--source", .words = {"distribution", "nvidia", "precompiled", "auto"}});
  verbs.OfferWords(verb, {.flag = "--gpu", .words = driver::GenerationNames()});
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
  return driver::GatherHostFacts(root, runner, RealClock(), wanted);
}

bool DriverPlan::IsBlocked() const {
  return std::ranges::any_of(findings, &driver::Finding::is_blocker);
}

StatusOr<DriverPlan> MakeDriverPlan(const DriverOptions& options, const host::DriverRoot& root,
                                    sys::ProgramRunner& runner) {
  ASSIGN_OR_RETURN(driver::HostFacts facts, DriverFactsOf(options, root, runner));
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(root.host));
  if (journal && journal->phase == driver_install::Phase::kInstalled) {
    facts.ours = std::move(journal->plan);
  }
  return PlanFor(std::move(facts), options, root, runner);
}

StatusOr<DriverPlan> PlanFor(driver::HostFacts facts, const DriverOptions& options,
                             const host::DriverRoot& root, sys::ProgramRunner& runner) {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options));
  DriverPlan made;
  made.facts = std::move(facts);
  ASSIGN_OR_RETURN(made.plan, PlanBesideOurs(made.facts, request));
  made.findings = driver::CheckFacts(made.facts, made.plan, request.gives_up);
  if (!options.skips_packages) {
    if (const auto manager = packages::FindPackageManager(root.host, runner); manager.ok()) {
      for (driver::Finding& finding :
           driver_install::CompleteRemoval(made.plan, **manager, made.facts.packages)) {
        made.findings.push_back(std::move(finding));
      }
    }
    for (driver::Finding& finding :
         driver::CheckPackages(made.facts, made.plan, root.host, runner)) {
      made.findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(made.findings, std::ranges::greater(), &driver::Finding::is_blocker);
  return made;
}

StatusOr<ExitCode> PrintDriverPlan(const DriverPlan& made, OutputFormat format) {
  if (format == OutputFormat::kTable) {
    RETURN_IF_ERROR(PrintOut(driver::PlanText(made.plan)));
    if (!made.findings.empty()) {
      PrintNote(driver::FindingsText(made.findings));
    }
  } else {
    boost::json::object json = driver::PlanJson(made.plan);
    json["findings"] = driver::FindingsJson(made.findings);
    RETURN_IF_ERROR(PrintOut(Render(json, format)));
  }
  return made.IsBlocked() ? ExitCode::kUnhealthy : ExitCode::kOk;
}

}  // namespace kgpu::cli
