#include "src/cli/driver_verify.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>

#include "src/cli/driver_view.h"
#include "src/cli/output.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/verify.h"
#include "src/setup/driver/wish.h"

namespace kgpu::cli {
namespace {

using driver_install::Journal;

struct VerifyOptions {
  DriverOptions driver;
  std::string output = "table";
};

struct Asked {
  driver::Verify wish;
  driver::Demands demands;
};

// What is asked for, and where nothing is, what kgpu installed. Of the system that runs, the kernel
// that runs now counts: it may be a newer one than the plan's.
StatusOr<Asked> AskedOf(const DriverOptions& options, const std::optional<Journal>& journal,
                        bool is_running_system) {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(options));
  Asked asked;
  ASSIGN_OR_RETURN(asked.demands, driver::DemandsOf(request));
  asked.wish = {.version = request.version, .kernel = options.kernel};
  if (journal && asked.wish.version.empty()) {
    asked.wish.version = journal->plan.version;
  }
  if (journal && asked.wish.kernel.empty() && !is_running_system) {
    asked.wish.kernel = journal->plan.kernel;
  }
  return asked;
}

// What to do about a driver by kgpu that is not well; empty: nothing more than was said.
std::string MendOf(const Journal& journal, const Asked& asked, const DriverHost& host) {
  if (journal.phase != driver_install::Phase::kInstalled) {
    return "";
  }
  constexpr std::string_view kAnew = "kgpu driver remove, then kgpu driver install";
  std::string kernel = asked.wish.kernel;
  if (kernel.empty()) {
    kernel = Trim(host.root().host.ReadFile("proc/sys/kernel/osrelease").value_or(""));
  }
  if (kernel.empty() || kernel == journal.plan.kernel) {
    return fmt::format("what puts driver {} on anew: {}", journal.plan.version, kAnew);
  }
  return fmt::format(
      "driver {} was installed for kernel {}, this one is {}: dkms autoinstall -k {} builds its "
      "modules where DKMS has them; else {}",
      journal.plan.version, journal.plan.kernel, kernel, kernel, kAnew);
}

StatusOr<ExitCode> RunVerify(const VerifyOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(options.driver));
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(host->root().host));
  ASSIGN_OR_RETURN(const Asked asked, AskedOf(options.driver, journal, host->IsRunningSystem()));
  const driver::Verified seen =
      driver::VerifyDriver(asked.wish, asked.demands, host->root(), host->runner());
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable ? VerifiedText(seen)
                                                          : Render(VerifiedJson(seen), format)));
  if (seen.failed.empty()) {
    return ExitCode::kOk;
  }
  constexpr const char* kNotOurs =
      "kgpu driver status tells what is here, kgpu driver plan which driver suits this host";
  if (const std::string mend = journal ? MendOf(*journal, asked, *host) : kNotOurs; !mend.empty()) {
    PrintNote(mend);
  }
  return ExitCode::kUnhealthy;
}

}  // namespace

StatusOr<std::string> OtherWish(const DriverOptions& options, const Journal& journal,
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
    // Of a branch that was asked for, the version that came.
    ASSIGN_OR_RETURN(const driver::HostFacts facts,
                     DriverFactsOf(options, host.root(), host.runner()));
    here.version = driver::IsVersion(facts.existing_version, here.version) ? facts.existing_version
                                                                           : here.version;
  }
  return driver::OtherThanAsked(request, here, file_version);
}

Status CheckSameWish(const DriverOptions& options, const Journal& journal, DriverHost& host) {
  ASSIGN_OR_RETURN(const std::string other, OtherWish(options, journal, host));
  if (other.empty()) {
    return OkStatus();
  }
  return FailedPrecondition(
      "driver {} is here, {} by kgpu, and {}: take it back before another one comes: kgpu driver "
      "rollback",
      journal.plan.version, driver_install::ToString(journal.phase), other);
}

StatusOr<driver_install::Outcome> LookAgain(const DriverOptions& options, const Journal& journal,
                                            const driver_install::Options& work, DriverHost& host) {
  ASSIGN_OR_RETURN(const Asked asked, AskedOf(options, journal, host.IsRunningSystem()));
  driver_install::Hands hands = host.hands();
  hands.verify = [&](const driver::Verify&) {
    return driver::VerifyDriver(asked.wish, asked.demands, host.root(), host.runner());
  };
  StatusOr<driver_install::Outcome> outcome = driver_install::Resume(work, hands);
  if (outcome.ok()) {
    return outcome;
  }
  return FailedPrecondition("{}\n{}", Message(outcome.status()), MendOf(journal, asked, host));
}

void AddDriverVerifyVerb(CLI::App& group, VerbRegistrar& verbs) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* verb = group.add_subcommand(
      "verify", "Look whether the driver is there whole: module, libraries, nodes, versions");
  verb->footer(
      "Without flags what kgpu installed, else any version; for the running kernel. Exits 7 when\n"
      "something is wrong, or the driver is not what is asked for.\n\n"
      "  kgpu driver verify\n"
      "  kgpu driver verify --cuda 12.4                   has it all of CUDA 12.4?\n"
      "  kgpu driver verify --branch 580 --kernel 6.1.0-56-amd64 --output json");
  AddDriverHostFlags(*verb, options->driver);
  AddDriverDemandFlags(verbs, *verb, options->driver);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return RunVerify(*options); });
}

}  // namespace kgpu::cli
