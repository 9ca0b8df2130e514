// The flags by which the verbs of `kgpu driver` say what is wanted, and what becomes of them.
#pragma once

#include <string>
#include <vector>

#include "src/cli/exit_code.h"
#include "src/cli/output.h"
#include "src/cli/verb.h"
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
  bool has_headers = false;     // of no package: driver::Request
  bool skips_packages = false;  // --offline: the package manager is not asked
  bool gives_up = false;        // --no-way-back
};

// --host-root, for every verb; `options` outlives the parse.
void AddDriverRootFlag(CLI::App& verb, DriverOptions& options);
// That and --kernel.
void AddDriverHostFlags(CLI::App& verb, DriverOptions& options);
// The same, and --driver-root, of a command that only looks at the driver that is here.
void AddDriverLookFlags(CLI::App& verb, DriverOptions& options);
// What a driver that is here can be asked for, too: --cuda, --version, --branch, --module.
void AddDriverDemandFlags(VerbRegistrar& verbs, CLI::App& verb, DriverOptions& options);
// What is wanted: those, and --source, --gpu and so on.
void AddDriverRequestFlags(VerbRegistrar& verbs, CLI::App& verb, DriverOptions& options);

// Errors: InvalidArgument, naming the flag.
StatusOr<driver::Request> DriverRequestOf(const DriverOptions& options);
// Errors: those of opening the root and of driver::GatherHostFacts.
StatusOr<driver::HostFacts> DriverFactsOf(const DriverOptions& options,
                                          const host::DriverRoot& root, sys::ProgramRunner& runner);

struct DriverPlan {
  driver::HostFacts facts;
  driver::Plan plan;
  driver::Findings findings{};  // errors first; one keeps the plan from being carried out
};

// Facts, choice, plan and the checks that come before it is carried out. Errors: as above and of
// driver::PlanDriver.
StatusOr<DriverPlan> MakeDriverPlan(const DriverOptions& options, const host::DriverRoot& root,
                                    sys::ProgramRunner& runner);
// What brings the modules of the driver that kgpu has installed to the kernel of --kernel. Errors:
// as above and of driver::PlanAnotherKernel.
StatusOr<DriverPlan> MakeKernelPlan(const DriverOptions& options, driver::Plan ours,
                                    const host::DriverRoot& root, sys::ProgramRunner& runner);
// As MakeDriverPlan, for facts that the caller has gathered.
StatusOr<DriverPlan> PlanFor(driver::HostFacts facts, const DriverOptions& options,
                             const host::DriverRoot& root, sys::ProgramRunner& runner);

// What was found of a plan, on standard error.
void NoteFindings(const driver::Findings& findings);
// The plan on standard output, findings on standard error, or both as JSON. Gives the exit code of
// the worst finding.
StatusOr<ExitCode> PrintDriverPlan(const DriverPlan& made, OutputFormat format);

}  // namespace kgpu::cli
