#include "src/cli/driver_install.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/cli/confirm.h"
#include "src/cli/driver_container.h"
#include "src/cli/driver_host.h"
#include "src/cli/driver_request.h"
#include "src/cli/driver_verify.h"
#include "src/cli/driver_view.h"
#include "src/cli/host_options.h"
#include "src/cli/lasting_program.h"
#include "src/cli/output.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/systemctl.h"
#include "src/setup/driver/view.h"

namespace kgpu::cli {
namespace {

using driver_install::Journal;
using driver_install::Outcome;
using driver_install::Phase;
using driver_install::Result;

struct InstallOptions {
  DriverOptions driver;
  ContainerOptions container;
  std::string output = "table";
  bool is_dry_run = false;
  bool is_yes = false;
  bool keeps = false;
  bool forces = false;        // --force
  bool restarts = false;      // --reboot
  bool only_resumes = false;  // --resume, of the unit that goes on after a restart
  bool trusts_key = false;    // --trust-key
};

Status Agree(const InstallOptions& options, std::string_view question) {
  return options.is_yes ? OkStatus() : Confirm(question);
}

StatusOr<driver_install::Options> WorkOptions(const InstallOptions& options,
                                              const DriverHost& host) {
  driver_install::Options work;
  work.keeps = options.keeps;
  work.restarts = options.restarts;
  work.is_running_system = host.IsRunningSystem();
  work.forces = options.forces;
  work.trusts_key = options.trusts_key;
  if (host.root().host.path() == "/") {  // else our program's path is none of the host's
    ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
    // A unit is not to run what somebody else may put there.
    if (const std::string program = folder + "/kgpu"; IsLastingProgram(program)) {
      work.resume_command = {program, "driver", "install", "--resume", "--yes"};
    }
    work.is_unattended = options.only_resumes;
  }
  return work;
}

// What the run came to, for people and scripts.
StatusOr<ExitCode> Tell(const Outcome& outcome, const std::string& version, OutputFormat format) {
  if (format == OutputFormat::kTable) {
    for (const std::string& note : outcome.notes) {
      PrintNote(fmt::format("note: {}", note));
    }
    RETURN_IF_ERROR(PrintOut(OutcomeText(outcome, version)));
  } else {
    RETURN_IF_ERROR(PrintOut(Render(OutcomeJson(outcome, version), format)));
  }
  const bool waits =
      outcome.result == Result::kNeedsReboot || outcome.result == Result::kNeedsPerson;
  return waits ? ExitCode::kWaits : ExitCode::kOk;
}

// Restarts the host where that was asked for.
Status Restart(DriverHost& host) {
  sys::RunRequest request;
  ASSIGN_OR_RETURN(request.argv, sys::SystemctlCommand(host.root().host, {"reboot"}));
  request.root = host.root().host.path();
  ASSIGN_OR_RETURN(const sys::RunResult result, host.runner().Run(request));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("systemctl reboot: {}", sys::Describe(result));
}

StatusOr<ExitCode> End(const StatusOr<Outcome>& outcome, const std::string& version,
                       OutputFormat format, DriverHost& host) {
  host.progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  ASSIGN_OR_RETURN(const ExitCode code, Tell(*outcome, version, format));
  if (outcome->is_to_restart) {
    RETURN_IF_ERROR(Restart(host));
  }
  return code;
}

// Whether another driver is asked for than the one that kgpu has installed, which gives way then.
StatusOr<bool> IsToReplace(const Journal& journal, const DriverOptions& options, DriverHost& host) {
  ASSIGN_OR_RETURN(const std::string other, OtherWish(options, journal, host));
  if (other.empty()) {
    return false;
  }
  if (!options.toolkit_image.empty()) {
    return FailedPrecondition(
        "driver {} by kgpu is here, and {}: of those that are built in a Driver Toolkit image "
        "there is one: kgpu driver remove, then kgpu driver install",
        journal.plan.version, other);
  }
  PrintNote(fmt::format("driver {} by kgpu gives way: {}", journal.plan.version, other));
  return true;
}

StatusOr<ExitCode> GoOn(const Journal& journal, const InstallOptions& options, OutputFormat format,
                        DriverHost& host) {
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  if (journal.phase == Phase::kInstalled) {
    return End(LookAgain(options.driver, journal, work, host), journal.plan.version, format, host);
  }
  RETURN_IF_ERROR(CheckSameWish(options.driver, journal, host));
  PrintNote(JournalText(journal));
  RETURN_IF_ERROR(Agree(options, "Go on with it?"));
  const StatusOr<Outcome> outcome = driver_install::Resume(work, host.hands());
  return End(outcome, journal.plan.version, format, host);
}

StatusOr<ExitCode> Begin(const InstallOptions& options, OutputFormat format, DriverHost& host) {
  ASSIGN_OR_RETURN(const DriverPlan made,
                   MakeDriverPlan(options.driver, host.root(), host.runner()));
  if (!made.findings.empty()) {
    PrintNote(driver::FindingsText(made.findings));
  }
  if (made.IsBlocked()) {
    return ExitCode::kUnhealthy;
  }
  if (!options.is_yes) {
    PrintNote(driver::PlanText(made.plan));
  }
  RETURN_IF_ERROR(Agree(options, fmt::format("Install driver {}?", made.plan.version)));
  ASSIGN_OR_RETURN(driver_install::Options work, WorkOptions(options, host));
  work.replaces = true;
  const StatusOr<Outcome> outcome = driver_install::CarryOut(made.plan, work, host.hands());
  return End(outcome, made.plan.version, format, host);
}

StatusOr<ExitCode> DryRunDriver(const InstallOptions& options, OutputFormat format,
                                DriverHost& host) {
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(host.root().host));
  const bool is_installed = journal && journal->phase == Phase::kInstalled;
  bool gives_way = false;
  if (is_installed) {
    ASSIGN_OR_RETURN(gives_way, IsToReplace(*journal, options.driver, host));
  }
  if (journal && !gives_way) {
    RETURN_IF_ERROR(CheckSameWish(options.driver, *journal, host));
    PrintNote(JournalText(*journal));
    return PrintDriverPlan({.facts = {}, .plan = journal->plan, .findings = {}}, format);
  }
  ASSIGN_OR_RETURN(const DriverPlan made,
                   MakeDriverPlan(options.driver, host.root(), host.runner()));
  return PrintDriverPlan(made, format);
}

// What was half taken back comes first: what is planned then sees the host as it was.
Status EndGoingBack(const Journal& journal, const InstallOptions& options, DriverHost& host) {
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  const StatusOr<Outcome> outcome = driver_install::Resume(work, host.hands());
  host.progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  PrintNote(fmt::format("what an earlier run had begun is taken back: {}", journal.failure));
  return OkStatus();
}

StatusOr<ExitCode> RunInstall(const InstallOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (options.container.is_container) {
    if (options.only_resumes || options.restarts || options.keeps || options.trusts_key) {
      return InvalidArgument(
          "--container: does not go with --resume, --reboot, --keep or --trust-key");
    }
    if (!options.is_dry_run) {
      RETURN_IF_ERROR(Agree(options, "Install the driver from this container?"));
    }
    ContainerOptions container = options.container;
    container.is_dry_run = options.is_dry_run;
    return RunInContainer(options.driver, container, format);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(options.driver));
  if (options.is_dry_run) {
    return DryRunDriver(options, format, *host);
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, host->Lock());
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(host->root().host));
  const bool was_going_back = journal && journal->phase == Phase::kGoingBack;
  if (was_going_back) {
    RETURN_IF_ERROR(EndGoingBack(*journal, options, *host));
    // The driver that the other one was to replace may be here again.
    ASSIGN_OR_RETURN(journal, driver_install::ReadJournal(host->root().host));
  }
  if (options.only_resumes && (was_going_back || !journal)) {
    return ExitCode::kOk;  // taken back or finished meanwhile
  }
  if (!journal) {
    return Begin(options, format, *host);
  }
  bool gives_way = false;
  if (journal->phase == Phase::kInstalled) {
    ASSIGN_OR_RETURN(gives_way, IsToReplace(*journal, options.driver, *host));
  }
  if (gives_way && options.only_resumes) {
    PrintNote("nothing of that was begun, and --resume only goes on: it stays as it is");
    return ExitCode::kOk;
  }
  return gives_way ? Begin(options, format, *host) : GoOn(*journal, options, format, *host);
}

// What there is to take back. Asked before the lock, so that nobody is asked in vain, and in it.
StatusOr<Journal> ToTakeBack(const sys::Root& root, bool only_last) {
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(root));
  if (!journal) {
    return NotFound("{}: is not there: kgpu has installed no driver here, and takes none away",
                    root.At(driver_install::kJournalFile));
  }
  if (only_last && journal->phase == Phase::kInstalled && journal->below.empty()) {
    return FailedPrecondition("driver {} is installed to the end: kgpu driver remove takes it back",
                              journal->plan.version);
  }
  return *std::move(journal);
}

// What comes back from below the driver that is taken back, for the question and the dry run.
std::string WhatComesBack(const Journal& journal, bool only_last) {
  if (journal.below.empty()) {
    return "";
  }
  if (only_last && !journal.takes_all) {
    return fmt::format(" Driver {}, which it replaced, comes back.",
                       journal.below.back().plan.version);
  }
  std::vector<std::string> versions;
  for (auto one = journal.below.rbegin(); one != journal.below.rend(); ++one) {
    versions.push_back(one->plan.version);
  }
  return fmt::format(" What it replaced comes back and is taken back as well: {}.",
                     Join(versions, ", then "));
}

StatusOr<ExitCode> RunTakeBack(const InstallOptions& options, bool only_last) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(options.driver));
  const sys::Root& root = host->root().host;
  ASSIGN_OR_RETURN(const Journal asked, ToTakeBack(root, only_last));
  const std::string besides = WhatComesBack(asked, only_last);
  if (options.is_dry_run) {
    PrintNote(JournalText(asked));
    PrintNote(fmt::format("these steps are taken back, the last one first:{}", besides));
    return PrintDriverPlan({.facts = {}, .plan = asked.plan, .findings = {}}, format);
  }
  RETURN_IF_ERROR(
      Agree(options, fmt::format("Take driver {} back?{}", asked.plan.version, besides)));
  const driver_install::Hands hands = host->hands();
  ASSIGN_OR_RETURN(const UniqueFd lock, host->Lock());
  ASSIGN_OR_RETURN(const Journal journal, ToTakeBack(root, only_last));
  if (journal.began != asked.began || journal.plan != asked.plan) {
    return Unavailable("another kgpu put driver {} in place of {} meanwhile: look, and call again",
                       journal.plan.version, asked.plan.version);
  }
  if (only_last && journal.phase == Phase::kInstalled && asked.phase != Phase::kInstalled) {
    return FailedPrecondition("driver {} was installed to the end meanwhile: look, and call again",
                              journal.plan.version);
  }
  ASSIGN_OR_RETURN(driver_install::Options work, WorkOptions(options, *host));
  work.takes_all = !only_last;
  const StatusOr<Outcome> outcome = driver_install::TakeBack(work, hands);
  return End(outcome, journal.plan.version, format, *host);
}

void AddRunFlags(CLI::App& verb, InstallOptions& options) {
  verb.add_flag("-n,--dry-run", options.is_dry_run, "Print the steps, change nothing");
  verb.add_flag("-y,--yes", options.is_yes, "Do not ask");
  AddOutputOption(verb, options.output);
}

void AddForceFlag(CLI::App& verb, InstallOptions& options) {
  verb.add_flag("--force", options.forces,
                "Go past a step that can not be undone; it is told, and no longer remembered");
}

void AddInstallVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<InstallOptions>();
  CLI::App* verb = group.add_subcommand(
      "install", "Carry the plan out; goes on where an earlier run ended, however that was");
  verb->footer(
      "A step that fails takes all back, from the last to the first. What is done is kept in\n"
      "/var/lib/kgpu/driver.json. Exits 8 when the host must be restarted, or a person must do\n"
      "something, before it goes on; 7 when something speaks against the plan; 6 when a step\n"
      "failed. Another driver's packages give way and are kept: when that fails, or by remove, "
      "they\n"
      "come back; those of a driver that kgpu installed come back by rollback.\n\n"
      "  kgpu driver install --dry-run\n"
      "  kgpu driver install --yes --reboot               restart where a step needs it, go on "
      "then\n"
      "  kgpu driver install --branch 580 --source nvidia\n"
      "  kgpu driver install --host-root /mnt/image --kernel 6.1.0-56-amd64 --gpu ampere --yes\n"
      "  kgpu driver install --container --host-root /host --dry-run\n"
      "  kgpu driver install --container --host-root /host --yes   in an init container");
  AddDriverHostFlags(*verb, options->driver);
  AddDriverWishFlags(verbs, *verb, options->driver);
  AddContainerFlags(*verb, options->container);
  AddRunFlags(*verb, *options);
  verb->add_flag("--keep", options->keeps, "Leave what was done when a step fails");
  verb->add_flag("--reboot", options->restarts, "Restart the host by itself where a step needs it");
  CLI::Option* resume =
      verb->add_flag("--resume", options->only_resumes,
                     "Only go on with what was begun; as the unit does that runs after a restart");
  verb->add_flag("--trust-key", options->trusts_key,
                 "Secure Boot: go on though the firmware's lists lack the modules' key, as the "
                 "kernel trusts it otherwise; if not, loading them fails and all is taken back")
      ->excludes(resume);
  verbs.OnRun(*verb, [options] { return ForRoot(RunInstall(*options)); });
}

void AddRemoveVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<InstallOptions>();
  CLI::App* verb =
      group.add_subcommand("remove", "Take back what install did: packages, files, units, modules");
  verb->footer(
      "Removes exactly the packages that came with it, and puts back the files that stood there\n"
      "before. What somebody else changed since stays. Drivers by kgpu that this one replaced "
      "come\n"
      "back one after the other and go, too. Exits 3 when kgpu installed no driver.\n\n"
      "  kgpu driver remove --dry-run\n"
      "  kgpu driver remove --yes");
  AddDriverRootFlag(*verb, options->driver);
  AddRunFlags(*verb, *options);
  AddForceFlag(*verb, *options);
  verbs.OnRun(*verb, [options] { return ForRoot(RunTakeBack(*options, false)); });
}

void AddRollbackVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<InstallOptions>();
  CLI::App* verb = group.add_subcommand(
      "rollback",
      "Take back an installation that is not finished, or go back to the driver before");
  verb->footer(
      "One that failed, was killed or waits is taken back. One that is finished gives way to the\n"
      "driver by kgpu that it replaced. Exits 3 when there is none, 6 when it is finished and\n"
      "replaced none (remove takes it back) or a step can not be undone now.\n\n"
      "  kgpu driver rollback --yes");
  AddDriverRootFlag(*verb, options->driver);
  AddRunFlags(*verb, *options);
  AddForceFlag(*verb, *options);
  verbs.OnRun(*verb, [options] { return ForRoot(RunTakeBack(*options, true)); });
}

}  // namespace

void AddDriverInstallVerbs(CLI::App& group, VerbRegistrar& verbs) {
  AddInstallVerb(group, verbs);
  AddDriverVerifyVerb(group, verbs);
  AddRemoveVerb(group, verbs);
  AddRollbackVerb(group, verbs);
}

}  // namespace kgpu::cli
