#include "src/cli/base/commands.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/cli/base/confirm.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/lasting_program.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/driver/driver_container.h"
#include "src/cli/driver/driver_host.h"
#include "src/cli/driver/driver_request.h"
#include "src/cli/driver/driver_verify.h"
#include "src/cli/driver/driver_view.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/report/print.h"
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
  bool only_resumes = false;  // --resume: run by the unit that continues later
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

// Prints the result of the run, for people and scripts.
StatusOr<ExitCode> Report(const Outcome& outcome, const std::string& version, OutputFormat format) {
  if (format == OutputFormat::kTable) {
    PrintNotes(outcome.notes, "note: ");
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
  const sys::Root& root = host.root().host;
  ASSIGN_OR_RETURN(const auto reboot, sys::SystemctlCommand(root, {"reboot"}));
  ASSIGN_OR_RETURN(const sys::RunResult result, host.runner().Run(sys::RequestOf(root, reboot)));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("systemctl reboot: {}", sys::Describe(result));
}

StatusOr<ExitCode> End(const StatusOr<Outcome>& outcome, const std::string& version,
                       OutputFormat format, DriverHost& host) {
  host.progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  ASSIGN_OR_RETURN(const ExitCode code, Report(*outcome, version, format));
  if (outcome->is_to_restart) {
    RETURN_IF_ERROR(Restart(host));
  }
  return code;
}

// Whether the installed driver gives way: to another one, or to itself for another kernel.
StatusOr<bool> IsToReplace(const Journal& journal, const DriverOptions& options, DriverHost& host) {
  ASSIGN_OR_RETURN(std::string why, OtherRequest(options, journal, host));
  if (why.empty() && LacksKernel(options, host)) {
    RETURN_IF_ERROR(CheckRunningKernel(options, journal, host));
    why = fmt::format("kernel {} has none of its modules", options.kernel);
  }
  if (why.empty()) {
    return false;
  }
  if (!options.toolkit_image.empty()) {
    return FailedPrecondition(
        "kgpu installed driver {}, and {}: there can be only one driver built in a Driver Toolkit "
        "image: run kgpu driver remove, then kgpu driver install",
        journal.plan.version, why);
  }
  PrintNote(
      fmt::format("driver {}, installed by kgpu, is replaced: {}", journal.plan.version, why));
  return true;
}

StatusOr<ExitCode> GoOn(const Journal& journal, const InstallOptions& options, OutputFormat format,
                        DriverHost& host) {
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  const std::string& version = journal.plan.version;
  if (journal.phase == Phase::kInstalled) {
    return End(LookAgain(options.driver, journal, work, host), version, format, host);
  }
  RETURN_IF_ERROR(CheckSameRequest(options.driver, journal, host));
  PrintNote(JournalText(journal));
  RETURN_IF_ERROR(Agree(options, "Resume it?"));
  return End(driver_install::Resume(work, host.deps()), version, format, host);
}

// Makes the plan, shows it with its findings, and asks. Nothing if a finding blocks it.
StatusOr<std::optional<driver::Plan>> AgreedPlan(const InstallOptions& options, DriverHost& host) {
  ASSIGN_OR_RETURN(DriverPlan made, MakeDriverPlan(options.driver, host.root(), host.runner()));
  NoteFindings(made.findings);
  if (report::HasError(made.findings)) {
    return std::nullopt;
  }
  if (!options.is_yes) {
    PrintNote(driver::PlanText(made.plan));
  }
  RETURN_IF_ERROR(Agree(options, fmt::format("Install driver {}?", made.plan.version)));
  return std::move(made.plan);
}

StatusOr<ExitCode> Begin(const InstallOptions& options, OutputFormat format, DriverHost& host) {
  ASSIGN_OR_RETURN(const auto plan, AgreedPlan(options, host));
  if (!plan) {
    return ExitCode::kUnhealthy;
  }
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  return End(driver_install::CarryOut(*plan, work, host.deps()), plan->version, format, host);
}

// The plan on the host without the former driver, which is installed again if there is none.
StatusOr<driver::Plan> PlanInPlaceOf(const std::string& former, const InstallOptions& options,
                                     const driver_install::Options& work, DriverHost& host) {
  const StatusOr<DriverPlan> made = MakeDriverPlan(options.driver, host.root(), host.runner());
  if (made.ok() && !report::HasError(made->findings)) {
    return made->plan;
  }
  const std::string why = made.ok() ? std::string(Trim(report::FindingsText(made->findings)))
                                    : std::string(Message(made.status()));
  const StatusOr<Outcome> again = driver_install::Resume(work, host.deps());
  return FailedPrecondition(
      "{}\ndriver {} {}", why, former,
      again.ok() ? "is installed again"
                 : fmt::format("could not be installed again: {}", Message(again.status())));
}

// Removes the driver of the journal, and installs the requested one. Everything that can be checked
// while the old one is there is checked before.
StatusOr<ExitCode> Replace(const Journal& journal, const InstallOptions& options,
                           OutputFormat format, DriverHost& host) {
  ASSIGN_OR_RETURN(const auto agreed, AgreedPlan(options, host));
  if (!agreed) {
    return ExitCode::kUnhealthy;
  }
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  const StatusOr<Outcome> gone = driver_install::GiveWay(work, host.deps());
  if (!gone.ok()) {
    return FailedPrecondition(
        "driver {} could not be removed: {}\nto try again: kgpu driver install; to keep it: kgpu "
        "driver rollback",
        journal.plan.version, Message(gone.status()));
  }
  PrintNotes(gone->notes, "note: ");
  ASSIGN_OR_RETURN(const driver::Plan plan,
                   PlanInPlaceOf(journal.plan.version, options, work, host));
  return End(driver_install::CarryOut(plan, work, host.deps()), plan.version, format, host);
}

StatusOr<ExitCode> DryRunDriver(const InstallOptions& options, OutputFormat format,
                                DriverHost& host) {
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(host.root().host));
  bool gives_way = false;
  if (journal && journal->phase == Phase::kInstalled) {
    ASSIGN_OR_RETURN(gives_way, IsToReplace(*journal, options.driver, host));
  } else if (journal && journal->phase == Phase::kRemoved) {
    ASSIGN_OR_RETURN(const std::string other, OtherRequest(options.driver, *journal, host));
    gives_way = !other.empty();
  }
  if (journal && !gives_way) {
    RETURN_IF_ERROR(CheckSameRequest(options.driver, *journal, host));
    PrintNote(JournalText(*journal));
    return PrintDriverPlan({.facts = {}, .plan = journal->plan, .findings = {}}, format);
  }
  ASSIGN_OR_RETURN(const DriverPlan made,
                   MakeDriverPlan(options.driver, host.root(), host.runner()));
  return PrintDriverPlan(made, format);
}

// First finishes a removal that was interrupted: the plan then sees the host as it was.
Status EndGoingBack(const Journal& journal, const InstallOptions& options, DriverHost& host) {
  ASSIGN_OR_RETURN(const driver_install::Options work, WorkOptions(options, host));
  const StatusOr<Outcome> outcome = driver_install::Resume(work, host.deps());
  host.progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  PrintNote(fmt::format("undid the unfinished earlier run{}{}", journal.failure.empty() ? "" : ": ",
                        journal.failure));
  return OkStatus();
}

StatusOr<ExitCode> InstallLocked(const InstallOptions& options, OutputFormat format,
                                 DriverHost& host) {
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(host.root().host));
  if (journal && journal->phase == Phase::kGoingBack) {
    RETURN_IF_ERROR(EndGoingBack(*journal, options, host));
    // The driver that gave way to the other one may be noted here.
    ASSIGN_OR_RETURN(journal, driver_install::ReadJournal(host.root().host));
  }
  if (options.only_resumes && (!journal || journal->phase == Phase::kRemoved)) {
    return ExitCode::kOk;  // removed or finished meanwhile
  }
  if (!journal) {
    return Begin(options, format, host);
  }
  if (journal->phase == Phase::kRemoved) {
    ASSIGN_OR_RETURN(const std::string other, OtherRequest(options.driver, *journal, host));
    return other.empty() ? GoOn(*journal, options, format, host) : Begin(options, format, host);
  }
  bool gives_way = false;
  if (journal->phase == Phase::kInstalled) {
    ASSIGN_OR_RETURN(gives_way, IsToReplace(*journal, options.driver, host));
  }
  if (gives_way && options.only_resumes) {
    PrintNote(
        "no unfinished installation matches the request, and --resume only continues one: nothing "
        "was changed");
    return ExitCode::kOk;
  }
  return gives_way ? Replace(*journal, options, format, host)
                   : GoOn(*journal, options, format, host);
}

StatusOr<ExitCode> RunInstall(const InstallOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (options.container.is_container) {
    if (options.only_resumes || options.restarts || options.keeps || options.trusts_key) {
      return InvalidArgument(
          "--container: cannot be combined with --resume, --reboot, --keep or --trust-key");
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
  return InstallLocked(options, format, *host);
}

// The driver that can be removed. Called before the lock, to ask no needless question, and again
// under it.
StatusOr<Journal> ToTakeBack(const sys::Root& root, bool only_last) {
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(root));
  if (!journal) {
    return NotFound("{}: not found: kgpu has installed no driver here, so there is none to remove",
                    root.At(driver_install::kJournalFile));
  }
  if (only_last && journal->phase == Phase::kInstalled && !journal->former) {
    return FailedPrecondition(
        "the installation of driver {} is complete: run kgpu driver remove to remove it",
        journal->plan.version);
  }
  return *std::move(journal);
}

// The question before the way back, and the note of the dry run.
std::string WayBackText(const Journal& journal, bool only_last, bool is_question) {
  const std::string& version = journal.plan.version;
  if (only_last && journal.phase == Phase::kRemoved) {
    return is_question ? fmt::format("Install driver {} again?", version)
                       : fmt::format("driver {} is installed again by these steps:", version);
  }
  const std::string besides =
      only_last && journal.former
          ? fmt::format(" Then driver {} is installed again.", journal.former->plan.version)
          : "";
  return is_question ? fmt::format("Undo the installation of driver {}?{}", version, besides)
                     : fmt::format("these steps are undone, the last one first:{}", besides);
}

StatusOr<ExitCode> RunTakeBack(const InstallOptions& options, bool only_last) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(options.driver));
  const sys::Root& root = host->root().host;
  ASSIGN_OR_RETURN(const Journal asked, ToTakeBack(root, only_last));
  if (options.is_dry_run) {
    PrintNote(JournalText(asked));
    PrintNote(WayBackText(asked, only_last, false));
    return PrintDriverPlan({.facts = {}, .plan = asked.plan, .findings = {}}, format);
  }
  RETURN_IF_ERROR(Agree(options, WayBackText(asked, only_last, true)));
  const driver_install::Dependencies deps = host->deps();
  ASSIGN_OR_RETURN(const UniqueFd lock, host->Lock());
  ASSIGN_OR_RETURN(const Journal journal, ToTakeBack(root, only_last));
  if (journal.began != asked.began || journal.plan != asked.plan) {
    return Unavailable(
        "another kgpu replaced driver {} with {} in the meantime: check kgpu driver status and run "
        "the command again",
        journal.plan.version, asked.plan.version);
  }
  if (only_last && journal.phase == Phase::kInstalled && asked.phase != Phase::kInstalled) {
    return FailedPrecondition(
        "another kgpu completed the installation of driver {} in the meantime: check kgpu driver "
        "status and run the command again",
        journal.plan.version);
  }
  ASSIGN_OR_RETURN(driver_install::Options work, WorkOptions(options, *host));
  work.restores = only_last;
  const StatusOr<Outcome> outcome = driver_install::TakeBack(work, deps);
  return End(outcome, journal.plan.version, format, *host);
}

void AddRunFlags(CLI::App& command, InstallOptions& options) {
  command.add_flag("--dry-run", options.is_dry_run, "Print the steps without running them");
  command.add_flag("-y,--yes", options.is_yes, "Do not ask for confirmation");
  AddOutputOption(command, options.output);
}

void AddForceFlag(CLI::App& command, InstallOptions& options) {
  command.add_flag("--force", options.forces, "Skip steps that cannot be undone, and forget them");
}

void AddInstallCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<InstallOptions>(
      group, "install", "Install the driver, or resume an interrupted installation",
      [](const InstallOptions& given) { return ForRoot(RunInstall(given)); });
  command.footer(
      "When a step fails, all steps are undone in reverse order. Completed steps are recorded in\n"
      "/var/lib/kgpu/driver.json. Exits 8 when it waits for a reboot or for your action; 7 when a "
      "finding\n"
      "blocks the plan; 6 when a step failed. The packages of another driver are removed and "
      "kept:\n"
      "a failed installation or kgpu driver remove restores them; kgpu driver rollback restores a\n"
      "driver that kgpu installed.\n"
      "\n"
      "  kgpu driver install --dry-run\n"
      "  kgpu driver install --yes --reboot               reboot if a step needs it, then resume\n"
      "  kgpu driver install --branch 580 --source nvidia\n"
      "  kgpu driver install --kernel 6.1.0-57-amd64      the installed driver, for another "
      "kernel\n"
      "  kgpu driver install --host-root /mnt/image --kernel 6.1.0-56-amd64 --gpu ampere --yes\n"
      "  kgpu driver install --container --host-root /host --dry-run\n"
      "  kgpu driver install --container --host-root /host --yes   in an init container");
  AddDriverHostFlags(command, options.driver);
  AddDriverRequestFlags(registrar, command, options.driver);
  AddContainerFlags(command, options.container);
  AddRunFlags(command, options);
  command.add_flag("--keep", options.keeps, "Keep completed steps when one fails");
  command.add_flag("--reboot", options.restarts, "Reboot the host when a step needs it");
  CLI::Option* resume = command.add_flag(
      "--resume", options.only_resumes,
      "Only resume an unfinished installation (used by the unit that runs after a reboot)");
  command
      .add_flag("--trust-key", options.trusts_key,
                "Secure Boot: continue even if the firmware does not list the modules' key, "
                "because the kernel trusts it by other means")
      ->excludes(resume);
}

void AddRemoveCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<InstallOptions>(
      group, "remove", "Undo the installation: packages, files, units, modules",
      [](const InstallOptions& given) { return ForRoot(RunTakeBack(given, false)); });
  command.footer(
      "Removes exactly the packages that the installation added, and restores the files that it\n"
      "replaced. Later changes by others are kept. Exits 3 when kgpu installed no driver.\n"
      "\n"
      "  kgpu driver remove --dry-run\n"
      "  kgpu driver remove --yes");
  AddDriverRootFlag(command, options.driver);
  AddRunFlags(command, options);
  AddForceFlag(command, options);
}

void AddRollbackCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<InstallOptions>(
      group, "rollback", "Undo an unfinished installation, or go back to the previous driver",
      [](const InstallOptions& given) { return ForRoot(RunTakeBack(given, true)); });
  command.footer(
      "Undoes an installation that failed, was killed or waits, or a complete one that replaced a\n"
      "driver by kgpu; that driver is installed again. Exits 3 when there is none, 6 when a "
      "complete one\n"
      "replaced no driver (use kgpu driver remove) or when a step cannot be undone now.\n"
      "\n"
      "  kgpu driver rollback --yes");
  AddDriverRootFlag(command, options.driver);
  AddRunFlags(command, options);
  AddForceFlag(command, options);
}

}  // namespace

void AddDriverInstallCommands(CLI::App& group, CommandRegistrar& registrar) {
  AddInstallCommand(group, registrar);
  AddDriverVerifyCommand(group, registrar);
  AddRemoveCommand(group, registrar);
  AddRollbackCommand(group, registrar);
}

}  // namespace kgpu::cli
