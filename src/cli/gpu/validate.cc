#include "src/cli/base/commands.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/value.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/version.h"
#include "src/cli/gpu/validate_targets.h"
#include "src/diagnose/validate/run.h"
#include "src/diagnose/validate/view.h"
#include "src/gpu/device/find_device.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/pci.h"
#include "src/node/inventory/driver_status.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct ValidateOptions {
  HostOptions host;
  std::string gpu;
  bool is_all = false;
  bool has_no_bandwidth = false;
  std::string burn = "0";
  std::string deadline;
  std::string library;
  std::string helper;
  std::string output = "table";
};

// What the host itself says is wrong with its driver, with the fix; empty: nothing, or it does not
// know. A container sees the modules of its host.
std::string DriverProblem(const host::DriverRoot& root) {
  const StatusOr<std::vector<host::PciDevice>> pci = host::ScanNvidiaPci(root.host);
  host::DriverVerdict verdict = host::ExplainDriver(
      host::ReadDriverFacts(root), pci.ok() ? *pci : std::vector<host::PciDevice>(),
      host::LibraryAnswer::kNotAsked);
  // Of a driver that was not asked, that is all that can be said.
  return verdict.state == device::DriverState::kFailed ? "" : std::move(verdict.reason);
}

// libcuda and the compiler that it loads by its bare name, both of the driver root: the loader's
// folders may hold others, or none.
Status FindLibraries(const ValidateOptions& options, const host::DriverRoot& root,
                     validate::RunOptions& run) {
  if (!options.library.empty()) {
    run.library = options.library;
    return OkStatus();
  }
  const StatusOr<host::DriverFiles> found =
      host::FindDriverFiles(root.driver, host::ReadDriverFacts(root).module_version);
  if (!found.ok()) {
    const std::string problem = DriverProblem(root);
    return NotFound(
        "{} On a host, run kgpu doctor to see what is wrong and the fix; in a container, start it "
        "with a GPU, e.g. by --device kgpu.dev/gpu=0 or a pod limit of nvidia.com/gpu",
        problem.empty() ? fmt::format("{}.", Message(found.status())) : problem);
  }
  const host::DriverFiles& files = *found;
  for (const host::DriverLibrary& library : files.libraries) {
    if (library.machine != files.machine) {
      continue;
    }
    if (library.soname == "libcuda.so.1") {
      run.library = root.driver.At(library.path);
    } else if (library.soname == "libnvidia-ptxjitcompiler.so.1") {
      run.preloads.push_back(root.driver.At(library.path));
    }
  }
  return run.library.empty()
             ? NotFound(
                   "libcuda.so.1 of driver {}: not found below {}: install the driver's compute "
                   "libraries (libcuda1, nvidia-driver-cuda-libs, …), or set --cuda-library",
                   files.version, root.driver.path())
             : OkStatus();
}

// The helper sees nothing of our environment but what chooses devices and leads to MPS, without
// which a GPU in exclusive mode is refused.
std::vector<std::string> EnvironmentFor(const ValidateTarget& target) {
  // A kernel from a cache would prove nothing of the compiler.
  std::vector<std::string> environment{"CUDA_CACHE_DISABLE=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  if (!target.uuid.empty()) {
    environment.push_back("CUDA_VISIBLE_DEVICES=" + target.uuid);
  }
  for (const std::string& variable : Environment()) {
    if (variable.starts_with("CUDA_MPS_") ||
        (target.uuid.empty() && variable.starts_with("CUDA_VISIBLE_DEVICES="))) {
      environment.push_back(variable);
    }
  }
  return environment;
}

// CUDA tells the UUID's digits only; whether it is a GPU's or a MIG device's we know.
void NameUuid(const ValidateTarget& target, validate::Report& report) {
  if (!target.uuid.empty()) {
    report.uuid = target.uuid;
  } else if (!report.uuid.empty()) {
    const bool is_mig = report.name.find(" MIG ") != std::string::npos;
    report.uuid = (is_mig ? "MIG-" : "GPU-") + report.uuid;
  }
}

// Shows the current phase on a terminal: the next output overwrites the line.
validate::PhaseListener ProgressOn(OutputFormat format, const ValidateTarget& target) {
  if (format != OutputFormat::kTable || isatty(STDERR_FILENO) == 0) {
    return [](std::string_view) {};
  }
  return [target](std::string_view phase) {
    const std::string text = phase.empty() ? "\r\033[K"
                                           : fmt::format("\r\033[K{}{}{} …", target.uuid,
                                                         target.uuid.empty() ? "" : ": ", phase);
    (void)!write(STDERR_FILENO, text.data(), text.size());
  };
}

StatusOr<validate::Report> RunTarget(const ValidateTarget& target, validate::RunOptions run,
                                     OutputFormat format) {
  if (!target.why_absent.empty()) {
    validate::Report report;
    report.outcome = validate::Outcome::kAbsent;
    report.name = target.name;
    report.reason = target.why_absent;
    return report;
  }
  run.environment = EnvironmentFor(target);
  const validate::PhaseListener progress = ProgressOn(format, target);
  run.on_silence = [progress, begun = RealClock().WallNow()] {
    progress("");
    PrintNote(
        fmt::format("kgpu validate: {} Ctrl-C stops waiting.", inventory::ExplainSilence(begun)));
  };
  StatusOr<validate::Report> report = validate::Run(run, progress);
  progress("");
  if (report.ok()) {
    NameUuid(target, *report);
  }
  return report;
}

// The cause, which the failure of a test often only follows from.
void NoteDriverProblem(const host::DriverRoot& root) {
  if (const std::string problem = DriverProblem(root); !problem.empty()) {
    PrintNote(fmt::format("kgpu validate: {} Run kgpu doctor to see the fix.", problem));
  }
}

bool IsPassed(const validate::Report& report) {
  return report.outcome == validate::Outcome::kPassed;
}

StatusOr<std::vector<validate::Report>> RunTargets(const std::vector<ValidateTarget>& targets,
                                                   const validate::RunOptions& run,
                                                   const host::DriverRoot& root,
                                                   OutputFormat format) {
  std::vector<validate::Report> reports;
  for (const ValidateTarget& target : targets) {
    ASSIGN_OR_RETURN(validate::Report report, RunTarget(target, run, format));
    if (!IsPassed(report) && std::ranges::all_of(reports, &IsPassed)) {
      NoteDriverProblem(root);
    }
    if (format == OutputFormat::kTable) {
      RETURN_IF_ERROR(PrintOut((reports.empty() ? "" : "\n") + validate::Text(report)));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

StatusOr<std::vector<ValidateTarget>> FindTargets(const ValidateOptions& options,
                                                  const host::DriverRoot& root) {
  if (!options.is_all && options.gpu.empty()) {
    return std::vector<ValidateTarget>(1);
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  return options.is_all ? AllTargets(*snapshot) : TargetsOf(*snapshot, options.gpu);
}

// A deadline on the command line applies to every phase.
Status TakeDeadline(const ValidateOptions& options, validate::RunOptions& run) {
  if (options.deadline.empty()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(run.deadline, ParseDuration("--deadline", options.deadline));
  if (run.deadline.count() == 0) {
    return InvalidArgument("--deadline: \"{}\" must be more than zero; the default is 60s",
                           options.deadline);
  }
  run.start_deadline = run.deadline;
  return OkStatus();
}

StatusOr<ExitCode> Run(const ValidateOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  validate::RunOptions run;
  ASSIGN_OR_RETURN(run.burn, ParseDuration("--burn", options.burn));
  RETURN_IF_ERROR(TakeDeadline(options, run));
  if (options.library.empty()) {
    NoteCudaObstacles("kgpu validate", options.host);  // the causes of what fails then
  }
  ASSIGN_OR_RETURN(run.program, FindCompanion("kgpu-cuda", "--cuda-helper", options.helper));
  run.version = VersionNumber();
  run.copy_bytes = options.has_no_bandwidth ? 0 : run.copy_bytes;
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  RETURN_IF_ERROR(FindLibraries(options, root, run));
  ASSIGN_OR_RETURN(const std::vector<ValidateTarget> targets, FindTargets(options, root));
  ASSIGN_OR_RETURN(const std::vector<validate::Report> reports,
                   RunTargets(targets, run, root, format));
  if (format != OutputFormat::kTable) {
    RETURN_IF_ERROR(PrintOut(Render(validate::Json(reports), format)));
  }
  return std::ranges::all_of(reports, &IsPassed) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddValidateCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<ValidateOptions>(registrar.app(), "validate",
                                                           "Run a CUDA test on the GPUs", &Run);
  command.footer(
      "Adds 50,000 numbers with a kernel that the driver compiles, and measures copies. Needs "
      "only\n"
      "the driver, no CUDA toolkit. Exits 7 when a GPU fails, and says why.\n"
      "\n"
      "  kgpu validate                      the first GPU that CUDA reports\n"
      "  kgpu validate --all-gpus --burn 60s\n"
      "  kgpu validate --gpu 3 --output json");
  AddValue(command, "--gpu", options.gpu, "GPU",
           fmt::format("{}; a GPU in MIG mode means its devices", device::kDeviceNames));
  command
      .add_flag("--all-gpus", options.is_all, "Test all GPUs and MIG devices, one after another")
      ->excludes("--gpu");
  AddValue(command, "--burn", options.burn, "DURATION",
           "Then compute for this long and check each result");
  command.add_flag("--no-bandwidth", options.has_no_bandwidth, "Skip the copy measurements");
  AddValue(command, "--deadline", options.deadline, "DURATION",
           "Limit for one phase (default: 60s, and 180s for the driver's start)");
  AddValue(command, "--cuda-library", options.library, "FILE",
           "CUDA driver library (default: libcuda.so.1 in the driver root)");
  AddValue(command, "--cuda-helper", options.helper, "FILE",
           "kgpu-cuda program (default: the one beside kgpu)")
      ->envname("KGPU_CUDA_HELPER");
  AddOutputOption(command, options.output);
  AddHostOptions(command, options.host);
}

}  // namespace kgpu::cli
