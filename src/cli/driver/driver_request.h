// The flags of `kgpu driver` commands, and the requests made from them.
#pragma once

#include <string>
#include <vector>

#include "src/cli/base/command_registrar.h"
#include "src/cli/base/exit_code.h"
#include "src/cli/base/output.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/planner.h"
#include "src/setup/driver/preflight.h"

namespace kgpu::cli {

struct DriverOptions {
  std::string host_root;
  std::string driver_root;  // of commands that only look at a driver; empty: found
  std::string kernel;
  std::string cuda;
  std::string version;
  std::string branch;
  std::string module_kind = "auto";
  std::string source = "auto";
  std::string gpu;
  std::string toolkit_image;
  bool has_display = false;
  bool has_headers = false;     // from no package: see driver::Request
  bool skips_packages = false;  // --offline: the package manager is not queried
  bool gives_up = false;        // --no-restore
};

// --host-root, for every command; `options` outlives the parse.
void AddDriverRootFlag(CLI::App& command, DriverOptions& options);
// --host-root and --kernel.
void AddDriverHostFlags(CLI::App& command, DriverOptions& options);
// The same and --driver-root, for commands that only examine the installed driver.
void AddDriverLookFlags(CLI::App& command, DriverOptions& options);
// What can also be requested of an installed driver: --cuda, --version, --branch, --module.
void AddDriverDemandFlags(CommandRegistrar& registrar, CLI::App& command, DriverOptions& options);
// The whole request: those, and --source, --gpu and so on.
void AddDriverRequestFlags(CommandRegistrar& registrar, CLI::App& command, DriverOptions& options);

// Errors: InvalidArgument, naming the flag.
StatusOr<driver::Request> DriverRequestOf(const DriverOptions& options);
// Errors: those of opening the root and of driver::GatherHostFacts.
StatusOr<driver::HostFacts> DriverFactsOf(const DriverOptions& options,
                                          const host::DriverRoot& root, sys::ProgramRunner& runner);

struct DriverPlan {
  driver::HostFacts facts;
  driver::Plan plan;
  driver::Findings findings{};  // errors first; one prevents the plan from being carried out
};

// Facts, choice, plan and the preflight checks. A driver by kgpu counts as removed. Errors: as
// above, and those of driver::PlanDriver.
StatusOr<DriverPlan> MakeDriverPlan(const DriverOptions& options, const host::DriverRoot& root,
                                    sys::ProgramRunner& runner);
// As MakeDriverPlan, from facts that the caller has gathered. Options that are not given keep the
// values of `ours` (null: none), the plan of a driver by kgpu that this one replaces.
StatusOr<DriverPlan> PlanFor(driver::HostFacts facts, const DriverOptions& options,
                             const host::DriverRoot& root, sys::ProgramRunner& runner,
                             const driver::Plan* ours = nullptr);

// Prints a plan's findings on standard error.
void NoteFindings(const driver::Findings& findings);
// The plan on standard output, findings on standard error, or both as JSON. Returns the exit code
// of the worst finding.
StatusOr<ExitCode> PrintDriverPlan(const DriverPlan& made, OutputFormat format);

}  // namespace kgpu::cli
