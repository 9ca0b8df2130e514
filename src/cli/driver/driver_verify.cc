#include "src/cli/driver/driver_verify.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/driver/driver_view.h"
#include "src/host/facts/facts.h"
#include "src/host/inspect/installed_kernels.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/other_request.h"
#include "src/setup/driver/verify.h"

namespace kgpu::cli {
namespace {

using driver_install::Journal;

struct VerifyOptions {
  DriverOptions driver;
  std::string output = "table";
};

struct Asked {
  driver::Verify request;
  driver::Demands demands;
};

// The options, and for those not given the values of the driver that kgpu installed. For the
// running system the running kernel counts: it may be newer than the plan's.
StatusOr<Asked> AskedOf(const DriverOptions& options, const std::optional<Journal>& journal,
                        bool is_running_system) {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options));
  Asked asked;
  ASSIGN_OR_RETURN(asked.demands, driver::DemandsOf(request));
  asked.request = {.version = request.version, .kernel = options.kernel};
  if (journal && asked.request.version.empty()) {
    asked.request.version = journal->plan.version;
  }
  if (journal && asked.request.kernel.empty() && !is_running_system) {
    asked.request.kernel = journal->plan.kernel;
  }
  return asked;
}

std::optional<host::InstalledKernel> FindKernel(const sys::Root& root, const std::string& release) {
  for (host::InstalledKernel& kernel : host::ReadInstalledKernels(root)) {
    if (kernel.release == release) {
      return std::move(kernel);
    }
  }
  return std::nullopt;
}

// What to do about a driver by kgpu that has a problem; empty: nothing beyond what was printed.
std::string FixOf(const Journal& journal, const Asked& asked, const DriverHost& host) {
  if (journal.phase != driver_install::Phase::kInstalled) {
    return "";
  }
  constexpr std::string_view kReinstall = "kgpu driver remove, then kgpu driver install";
  std::string kernel = asked.request.kernel;
  if (kernel.empty()) {
    kernel = host::RunningKernel(host.root().host);
  }
  if (kernel.empty() || kernel == journal.plan.kernel) {
    return fmt::format("to reinstall driver {}: {}", journal.plan.version, kReinstall);
  }
  const auto there = FindKernel(host.root().host, kernel);
  std::string how = fmt::format(
      "when it runs, kgpu driver install --kernel {} reinstalls the driver for it", kernel);
  if (!there) {
    how = fmt::format(
        "that kernel is not installed: install it, then run kgpu driver install --kernel {}",
        kernel);
  } else if (!there->nvidia_file.empty()) {
    how = fmt::format("dkms autoinstall -k {} builds its modules if DKMS manages them", kernel);
  }
  return fmt::format("driver {} was installed for kernel {}, this one is {}: {}; otherwise {}",
                     journal.plan.version, journal.plan.kernel, kernel, how, kReinstall);
}

// Whether the driver that runs reports every GPU that it holds. A warning, since no installation
// brings a GPU back that does not start.
void AskDriver(const DriverOptions& options, const host::DriverRoot& root, driver::Verified& seen) {
  constexpr std::chrono::seconds kDeadline{3};
  if (!root.host.Exists("proc/driver/nvidia/version")) {
    return;
  }
  HostOptions host;
  host.host_root = options.host_root;
  host.driver_root = options.driver_root;
  const StatusOr<TimedObservation> timed = TakeObservationWithin(host, root, kDeadline);
  if (!timed.ok() || timed->is_late || !timed->observation.snapshot ||
      timed->observation.snapshot->driver.state != device::DriverState::kReady) {
    seen.skipped.push_back(fmt::format(
        "which GPUs the driver reports: {}",
        timed.ok() ? "it did not answer; kgpu doctor shows why" : Message(timed.status())));
    return;
  }
  for (const device::UnmanagedGpu& gpu : timed->observation.snapshot->unmanaged) {
    if (gpu.kernel_driver == "nvidia") {
      seen.warned.push_back(fmt::format("{}: {}", gpu.pci.str(), gpu.reason));
    }
  }
}

StatusOr<ExitCode> RunVerify(const VerifyOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(options.driver));
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(host->root().host));
  ASSIGN_OR_RETURN(const Asked asked, AskedOf(options.driver, journal, host->IsRunningSystem()));
  // An operator's driver container, as for kgpu driver status.
  const std::optional<host::DriverRoot> other = host::FindOtherRoot(host->root());
  const host::DriverRoot& root = other ? *other : host->root();
  driver::Verified seen = driver::VerifyDriver(asked.request, asked.demands, root, host->runner());
  AskDriver(options.driver, root, seen);
  RETURN_IF_ERROR(PrintAs(format, VerifiedText(seen), VerifiedJson(seen)));
  if (seen.failed.empty()) {
    return ExitCode::kOk;
  }
  constexpr const char* kNotOurs =
      "kgpu driver status shows the installed driver, kgpu driver plan the driver that suits this "
      "host";
  if (const std::string fix = journal ? FixOf(*journal, asked, *host) : kNotOurs; !fix.empty()) {
    PrintNote(fix);
  }
  return ExitCode::kUnhealthy;
}

}  // namespace

StatusOr<std::string> OtherRequest(const DriverOptions& options, const Journal& journal,
                                   DriverHost& host) {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options));
  std::string file_version;
  if (driver::IsFile(options.source)) {
    // One that is gone by now says nothing.
    const auto file = driver::ReadDriverFile(host.root().host, options.source);
    file_version = file.ok() ? file->version : "";
  }
  driver::Plan here = journal.plan;
  if (journal.phase == driver_install::Phase::kInstalled &&
      !(request.version.empty() && request.cuda.empty())) {
    // For a branch that was requested, the version that was installed.
    ASSIGN_OR_RETURN(const driver::HostFacts facts,
                     DriverFactsOf(options, host.root(), host.runner()));
    here.version = driver::IsVersion(facts.existing_version, here.version) ? facts.existing_version
                                                                           : here.version;
  }
  return driver::OtherThanAsked(request, here, file_version);
}

bool LacksKernel(const DriverOptions& options, const DriverHost& host) {
  const auto kernel = FindKernel(host.root().host, options.kernel);
  return kernel && kernel->nvidia_file.empty();
}

Status CheckRunningKernel(const DriverOptions& options, const Journal& journal,
                          const DriverHost& host) {
  if (options.kernel == host::RunningKernel(host.root().host)) {
    return OkStatus();
  }
  return FailedPrecondition(
      "--kernel: {}: driver {} is installed for kernel {}, and replacing it would leave that "
      "kernel "
      "without a driver: install the headers of {} and run dkms autoinstall -k {}, or reboot into "
      "it and run kgpu driver install --kernel {}",
      options.kernel, journal.plan.version, journal.plan.kernel, options.kernel, options.kernel,
      options.kernel);
}

Status CheckSameRequest(const DriverOptions& options, const Journal& journal, DriverHost& host) {
  ASSIGN_OR_RETURN(const std::string other, OtherRequest(options, journal, host));
  if (other.empty()) {
    return OkStatus();
  }
  return FailedPrecondition(
      "the installation of driver {} by kgpu is {}, and {}: run kgpu driver rollback before you "
      "install another driver",
      journal.plan.version, driver_install::ToString(journal.phase), other);
}

StatusOr<driver_install::Outcome> LookAgain(const DriverOptions& options, const Journal& journal,
                                            const driver_install::Options& work, DriverHost& host) {
  ASSIGN_OR_RETURN(const Asked asked, AskedOf(options, journal, host.IsRunningSystem()));
  driver_install::Dependencies deps = host.deps();
  deps.verify = [&](const driver::Verify&) {
    return driver::VerifyDriver(asked.request, asked.demands, host.root(), host.runner());
  };
  StatusOr<driver_install::Outcome> outcome = driver_install::Resume(work, deps);
  if (outcome.ok()) {
    return outcome;
  }
  return FailedPrecondition("{}\n{}", Message(outcome.status()), FixOf(journal, asked, host));
}

void AddDriverVerifyCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<VerifyOptions>(
      group, "verify",
      "Check that the driver is complete: modules, libraries, device nodes, versions", &RunVerify);
  command.footer(
      "By default checks the driver that kgpu installed, or any other, for the running kernel. "
      "Exits\n"
      "7 when something is wrong or the driver is not the requested one.\n"
      "\n"
      "  kgpu driver verify\n"
      "  kgpu driver verify --cuda 12.4                   does it fully support CUDA 12.4?\n"
      "  kgpu driver verify --branch 580 --kernel 6.1.0-56-amd64 --output json");
  AddDriverLookFlags(command, options.driver);
  AddDriverDemandFlags(registrar, command, options.driver);
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
