#include "src/cli/base/commands.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/agent/host_files.h"
#include "src/cli/base/confirm.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/lasting_program.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress_runner.h"
#include "src/cli/driver/driver_request.h"
#include "src/cli/node/node_levels.h"
#include "src/cli/runtime/runtime_configure.h"
#include "src/container/engine/state.h"
#include "src/host/change/disk.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/run.h"
#include "src/platform/sys/systemctl.h"
#include "src/setup/bringup/agent_stage.h"
#include "src/setup/bringup/bringup.h"
#include "src/setup/bringup/command_stage.h"
#include "src/setup/bringup/record.h"
#include "src/setup/bringup/view.h"
#include "src/setup/driver/other_request.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {
namespace {

using bringup::Words;

constexpr std::array<std::string_view, 5> kStages = {"host", "driver", "engine", "agent",
                                                     "validate"};
// Findings that no stage fixes. A missing GPU is one more, except on a host that gets them later.
constexpr char kHostChecks[] =
    "pci-gpu-off-bus,pci-bar-unplaced,pci-gpu-held-by-other-driver,kernel-modules-gone,"
    "kernel-loading-refused";

struct UpOptions {
  DriverOptions driver;
  std::vector<std::string> skip;
  std::string accept_env;  // "yes", "no"; empty: what is set already stays, else no
  bool adopt = false;
  std::string output = "table";
  bool is_dry_run = false;
  bool yes = false;
  bool only_resumes = false;  // --resume: run by the unit that continues later
  bool trusts_key = false;    // --trust-key
};

// Those that were given: "auto" is not.
Words Given(const std::vector<std::pair<const char*, std::string>>& flags) {
  Words words;
  for (const auto& [flag, value] : flags) {
    if (!value.empty() && value != "auto") {
      words.insert(words.end(), {flag, value});
    }
  }
  return words;
}

// The flags of `kgpu driver` as they were given to us: what a driver that is here can be asked for,
// and with those all.
Words DemandWords(const DriverOptions& options) {
  return Given({{"--kernel", options.kernel},
                {"--cuda", options.cuda},
                {"--version", options.version},
                {"--branch", options.branch},
                {"--module", options.module_kind}});
}
Words DriverWords(const DriverOptions& options) {
  Words words = Concat(DemandWords(options), Given({{"--source", options.source},
                                                    {"--gpu", options.gpu},
                                                    {"--driver-toolkit", options.toolkit_image}}));
  if (options.has_display) {
    words.emplace_back("--display");
  }
  if (options.skips_packages) {
    words.emplace_back("--offline");
  }
  if (options.gives_up) {
    words.emplace_back("--no-restore");
  }
  return words;
}

// The flags of `kgpu runtime configure`.
Words EngineWords(const UpOptions& options) {
  return Concat(Given({{"--accept-env", options.accept_env}}),
                options.adopt ? Words{"--adopt"} : Words{});
}

std::string HostChecks(const UpOptions& options) {
  const bool skips_engines = std::ranges::find(options.skip, "engine") != options.skip.end();
  return fmt::format("{}{}{}", options.driver.gpu.empty() ? "pci-no-gpu," : "", kHostChecks,
                     skips_engines ? "" : ",engine-missing");
}

// Borrows both.
std::function<bool()> WhetherThere(const sys::Root& host, const std::string_view& path) {
  return [&host, &path] { return host.Exists(path); };
}

Words RootWords(const UpOptions& options) {
  return options.driver.host_root.empty() ? Words{}
                                          : Words{"--host-root", options.driver.host_root};
}

// How a user would write the driver that was requested.
std::string ByHand(const UpOptions& options) {
  const Words settings = Concat(DriverWords(options.driver), RootWords(options));
  return Join(Concat({"kgpu", "driver", "install"}, settings), " ");
}

// `options` must live as long as what it gives.
bringup::Stages MakeStages(const UpOptions& options, const bringup::Commands& commands,
                           const bringup::AgentInput& agent) {
  const Words root = RootWords(options);
  const Words demands = DemandWords(options.driver);
  const Words settings = Concat(DriverWords(options.driver), root);
  Words install = Concat({"driver", "install", "--yes"}, settings);
  if (options.only_resumes) {
    install.emplace_back("--resume");
  }
  if (options.trusts_key) {
    install.emplace_back("--trust-key");
  }
  const Words configure = Concat(Concat({"runtime", "configure"}, EngineWords(options)), root);
  bringup::Stages stages;
  stages.push_back(
      bringup::MakeStage({.id = "host",
                          .title = "the GPUs, kernel and container engines of this host",
                          .look = Concat({"doctor", "--only", HostChecks(options)}, root),
                          .is_look_final = true,
                          // The doctor only remarks it where nothing of a driver is there.
                          .obstacle = "pci-no-gpu:",
                          .way_past = "to set up GPUs that are added later, set --gpu GENERATION",
                          .when_hidden = "this is a container, which does not show the host: mount "
                                         "the host's / at /host, then run: kgpu node up "
                                         "--host-root /host"},
                         commands));
  stages.push_back(bringup::MakeStage(
      {.id = "driver",
       .title = "NVIDIA's driver",
       .look = Concat(Concat({"driver", "verify"}, demands), root),
       .reason = "FAILED",
       .is_proven = true,
       .act = install,
       .preview = Concat({"driver", "plan"}, settings),
       .undo = Concat({"driver", "remove", "--yes"}, root),
       .has_traces = WhetherThere(agent.host, driver_install::kJournalFile),
       .levels = [&options, &host = agent.host] { return DriverLevels(host, ByHand(options)); },
       .preview_undo = Concat({"driver", "remove", "--dry-run"}, root),
       .waits = static_cast<int>(ExitCode::kWaits),
       .nothing = static_cast<int>(ExitCode::kNotFound)},
      commands));
  stages.push_back(
      bringup::MakeStage({.id = "engine",
                          .title = "the container engines",
                          .look = Concat({"runtime", "check"}, root),
                          .act = Concat(configure, {"--restart"}),
                          .preview = Concat(configure, {"--dry-run"}),
                          .undo = Concat({"runtime", "revert", "--restart"}, root),
                          .has_traces = WhetherThere(agent.host, engine::kStateFile),
                          .preview_undo = Concat({"runtime", "revert", "--dry-run"}, root)},
                         commands));
  stages.push_back(bringup::MakeAgentStage(agent));
  stages.push_back(bringup::MakeStage({.id = "validate",
                                       .title = "a CUDA test on the GPUs",
                                       .act = Concat({"validate", "--all-gpus"}, root)},
                                      commands));
  return stages;
}

// Which of the host's own program folders we are in, if any.
bool IsInstalled(const std::string& folder, const std::string& host_root) {
  constexpr std::array<std::string_view, 2> kInstalled = {"/usr/bin", bringup::kProgramFolder};
  return (host_root.empty() || host_root == "/") &&
         std::ranges::find(kInstalled, folder) != kInstalled.end();
}

Status CheckSkipped(const std::vector<std::string>& skip) {
  for (const std::string& id : skip) {
    if (std::ranges::find(kStages, id) == kStages.end()) {
      return InvalidArgument(
          "--skip: \"{}\" must be a stage: host, driver, engine, agent or validate",
          Printable(id, 40));
    }
  }
  return OkStatus();
}

// Reports what a stage would reject later, before anything is asked or begun.
Status CheckUpFlags(const UpOptions& options) {
  RETURN_IF_ERROR(CheckSkipped(options.skip));
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options.driver));
  RETURN_IF_ERROR(driver::DemandsOf(request).status());
  RETURN_IF_ERROR(YesOrNo("--accept-env", options.accept_env).status());
  return OkStatus();
}

// Empty if no unit can continue: it would run a file that others may have put there, or none.
Words ResumeCommand(const UpOptions& options, const sys::Root& root, const std::string& program) {
  if (root.path() != "/" || !sys::HasSystemd(root) || !IsLastingProgram(program)) {
    return {};
  }
  Words words = Concat(Concat({program, "node", "up", "--resume", "--yes"}, EngineWords(options)),
                       DriverWords(options.driver));
  if (!options.skip.empty()) {
    words.insert(words.end(), {"--skip", Join(options.skip, ",")});
  }
  return words;
}

ExitCode UpCodeOf(const bringup::Report& report) {
  if (report.Has(bringup::Step::kFailed)) {
    return ExitCode::kFailed;
  }
  return report.Has(bringup::Step::kWaits) ? ExitCode::kWaits : ExitCode::kOk;
}

// The stages' output is parsed: it must be the same that people get.
std::vector<std::string> StageEnvironment() {
  std::vector<std::string> environment = Environment();
  std::erase_if(environment,
                [](const std::string& entry) { return entry.starts_with("KGPU_OUTPUT="); });
  return environment;
}

using UpAction = StatusOr<bringup::Report> (*)(const bringup::Stages&, const bringup::Host&,
                                               const bringup::Options&);

// Whether there is nothing to remove, so that no question is needed. Names what outlives an agent
// that `up` has installed, and keeps the driver from being removed.
StatusOr<bool> IsInVain(UpAction action, const sys::Root& root) {
  if (action != &bringup::Down) {
    return false;
  }
  ASSIGN_OR_RETURN(const bringup::Record record, bringup::ReadRecord(root));
  if (std::ranges::find(record.stages, "agent") != record.stages.end()) {
    PrintNotes(agent::RunningMpsDaemons(root), "goes on: ");
  }
  return record.stages.empty();
}

StatusOr<ExitCode> Run(const UpOptions& options, UpAction action, std::string_view question) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(CheckUpFlags(options));
  const std::string& host_root = options.driver.host_root;
  ASSIGN_OR_RETURN(const host::DriverRoot roots, host::OpenDriverRoot(host_root, "", ""));
  const sys::Root& root = roots.host;
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  ASSIGN_OR_RETURN(const bool is_in_vain, IsInVain(action, root));
  if (!options.is_dry_run && !options.yes && !is_in_vain) {
    RETURN_IF_ERROR(Confirm(question));
  }
  sys::RealRunner programs;
  ProgressRunner runner(programs);
  change::HostDisk disk(root);
  const bringup::Commands commands{
      folder + "/kgpu", runner, [](std::string_view line) { PrintNote(fmt::format("  {}", line)); },
      StageEnvironment()};
  ASSIGN_OR_RETURN(const std::string library, FindShareLibrary(""));
  const bringup::AgentInput agent{
      root, disk, runner, commands, folder, IsInstalled(folder, host_root), library};
  const bringup::Stages stages = MakeStages(options, commands, agent);
  bringup::Options how;
  how.skipped = {options.skip.begin(), options.skip.end()};
  how.is_dry_run = options.is_dry_run;
  how.resume = ResumeCommand(options, root, commands.program);
  how.on_stage = [](const bringup::Stage& stage) {
    PrintNote(fmt::format("{}: {}", stage.id(), stage.title()));
  };
  ASSIGN_OR_RETURN(const bringup::Report report, action(stages, {root, disk}, how));
  if (format == OutputFormat::kTable) {
    RETURN_IF_ERROR(PrintOut(bringup::ReportText(report)));
    return UpCodeOf(report);
  }
  PrintNotes(report.notes, "note: ");  // the list has no place for them
  RETURN_IF_ERROR(PrintOut(Render(bringup::ReportJson(report), format)));
  return UpCodeOf(report);
}

StatusOr<ExitCode> RunUp(const UpOptions& options) {
  return ForRoot(Run(options, &bringup::Up, "Set up this host as a GPU node?"));
}

StatusOr<ExitCode> RunDown(const UpOptions& options) {
  return ForRoot(Run(options, &bringup::Down, "Undo what kgpu node up did here?"));
}

void AddUpFlags(CommandRegistrar& registrar, CLI::App& command, UpOptions& options) {
  AddValue(command, "--skip", options.skip, "STAGE",
           "Stages to skip: host, driver, engine, agent, validate; A,B")
      ->delimiter(',');
  command.add_flag("--dry-run", options.is_dry_run,
                   "Show what would be done without changing anything");
  command.add_flag("-y,--yes", options.yes, "Do not ask for confirmation");
  AddOutputOption(command, options.output);
  registrar.OfferWords(command, {.flag = "--skip", .words = {kStages.begin(), kStages.end()}});
}

void AddUp(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<UpOptions>(group, "up",
                               "Make this host a GPU node: install the driver, "
                               "configure engines, start the agent, test the GPUs",
                               &RunUp);
  command.footer(
      "Checks each stage and does what is missing. Run it again after an error, a kill or a "
      "reboot\n"
      "(a unit resumes it after a reboot). Each stage also has its own command: kgpu doctor, "
      "driver\n"
      "install, runtime configure, agent, validate. Restarts an engine when its configuration\n"
      "changes.\n"
      "\n"
      "Exits 0 when all is done, 8 when it waits for a reboot or for your action, 1 when a stage "
      "fails,\n"
      "4 when another kgpu node up is running.\n"
      "\n"
      "  kgpu node up --dry-run\n"
      "  kgpu node up --cuda 12.4 --yes\n"
      "  kgpu node up --skip driver             keep a driver installed by other means");
  AddDriverHostFlags(command, options.driver);
  AddDriverRequestFlags(registrar, command, options.driver);
  AddValue(command, "--accept-env", options.accept_env, "yes|no",
           "yes or no: whether NVIDIA_VISIBLE_DEVICES, which images can also set, gives a "
           "container GPUs (default: the current setting, else no)");
  command.add_flag("--adopt", options.adopt, "Engines: replace NVIDIA's runtime with kgpu-runtime");
  CLI::Option* resume = command.add_flag(
      "--resume", options.only_resumes,
      "Only resume an unfinished driver installation (used by the unit that runs after a reboot)");
  command
      .add_flag("--trust-key", options.trusts_key,
                "Secure Boot: continue even if the firmware does not list the modules' key, "
                "because the kernel trusts it by other means")
      ->excludes(resume);
  registrar.OfferWords(command, {.flag = "--accept-env", .words = {"yes", "no"}});
  AddUpFlags(registrar, command, options);
}

void AddDown(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<UpOptions>(
      group, "down", "Undo what kgpu node up did, and nothing else", &RunDown);
  command.footer(
      "Undoes the last stage first: the agent's service and programs, the engines' configuration,\n"
      "and the driver if node up installed it.\n"
      "\n"
      "  kgpu node down --dry-run\n"
      "  kgpu node down --skip driver --yes");
  AddHostRootOption(command, options.driver.host_root,
                    "Folder with the host's files: / or an image");
  AddUpFlags(registrar, command, options);
}

}  // namespace

void AddNodeUpCommands(CommandRegistrar& registrar, CLI::App& group) {
  AddUp(registrar, group);
  AddDown(registrar, group);
}

}  // namespace kgpu::cli
