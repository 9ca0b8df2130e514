#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/gpu/health_look.h"
#include "src/gpu/device/find_device.h"
#include "src/gpu/health/journal.h"
#include "src/kube/api/query.h"
#include "src/node/report/health_view.h"
#include "src/node/report/rules_view.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

struct HealthOptions {
  HostOptions host;
  std::string output = "table";
  std::string run_dir = kRunDir;
  std::string state_dir = kStateDir;
  std::string since = "7d";
  std::string gpu;
  bool is_direct = false;
};

StatusOr<ExitCode> ShowHealth(const HealthOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (!options.is_direct && IsAgentsHost(options.host)) {
    // It knows what happened; a look at the driver shows what is.
    StatusOr<ExitCode> answer = PrintFromAgent(
        BelowHostRoot(options.run_dir, kRunDir, options.host.host_root), "/v1/health", format);
    if (answer.status().code() == StatusCode::kPermissionDenied) {
      return PermissionDenied("{}; --direct asks the driver, which does not know past faults",
                              Message(answer.status()));
    }
    if (answer.ok()) {
      NoteCudaObstacles("kgpu health", options.host);
    }
    if (answer.ok() || !IsNoAgent(answer.status())) {
      return answer;
    }
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const Observation observation, TakeObservation(options.host, root));
  const report::HealthReport report = ReportOf(observation);
  RETURN_IF_ERROR(PrintAs(format, report::HealthTable(report), report::HealthJson(report)));
  NoteCudaObstacles("kgpu health", options.host);
  return report::IsHealthy(report) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

constexpr std::string_view kUseUuid =
    "use the GPU's UUID, which kgpu health history shows without --gpu";

// The journal knows UUIDs; what other names mean only the driver knows. Errors: InvalidArgument (no
// name of a GPU), NotFound, FailedPrecondition (the driver does not answer), those of asking it.
StatusOr<device::SnapshotPtr> LookFor(const HealthOptions& options) {
  if (const auto named = device::FindDevice(device::Snapshot(), options.gpu);
      named.status().code() == StatusCode::kInvalidArgument) {
    return Annotate(named.status(), "--gpu");
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  StatusOr<device::SnapshotPtr> snapshot = TakeSnapshot(options.host, root);
  if (!snapshot.ok()) {
    return MakeStatus(snapshot.status().code(),
                      fmt::format("--gpu: no agent is running, and the driver was not asked which "
                                  "GPU is {}: {}: {}",
                                  options.gpu, Message(snapshot.status()), kUseUuid));
  }
  const device::Driver& driver = (*snapshot)->driver;
  if (driver.state != device::DriverState::kReady) {
    return FailedPrecondition(
        "--gpu: no agent is running, and the driver does not say which GPU is {} ({}): {}",
        options.gpu, IsDriverSilent(driver) ? "it does not answer" : driver.reason, kUseUuid);
  }
  if (!device::FindDevice(**snapshot, options.gpu).ok()) {
    return NotFound("--gpu: the driver reports no GPU {} now: {}", options.gpu, kUseUuid);
  }
  return snapshot;
}

// Without an agent the file is read: after a crash, or when the agent was removed.
StatusOr<ExitCode> PrintJournal(const HealthOptions& options, WallTime since, OutputFormat format) {
  health::JournalFilter filter{.since = since, .gpu = {}};
  auto snapshot = std::make_shared<const device::Snapshot>();
  if (auto uuid = device::GpuUuid::Parse(options.gpu); uuid.ok()) {
    filter.gpu = *std::move(uuid);
  } else if (!options.gpu.empty()) {
    ASSIGN_OR_RETURN(snapshot, LookFor(options));
    ASSIGN_OR_RETURN(const device::NamedDevice named, device::FindDevice(*snapshot, options.gpu));
    filter.gpu = named.gpu->uuid;
  }
  ASSIGN_OR_RETURN(
      health::JournalText journal,
      health::Journal(BelowHostRoot(options.state_dir, kStateDir, options.host.host_root), {})
          .Read());
  journal.entries = health::Select(std::move(journal.entries), filter);
  return OkOr(
      PrintAs(format, report::HistoryTable(journal, *snapshot), report::HistoryJson(journal)));
}

StatusOr<ExitCode> History(const HealthOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::chrono::seconds back, ParseSince("--since", options.since));
  const WallTime since = RealClock().WallNow() - back;
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(since.time_since_epoch()).count();
  const std::string run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host.host_root);
  std::string path = fmt::format("/v1/health/history?since={}", ms);
  if (!options.gpu.empty()) {
    path += "&gpu=" + kube::Escape(options.gpu);
  }
  StatusOr<ExitCode> answer = PrintFromAgent(run_dir, path, format);
  if (answer.ok() || !IsNoAgent(answer.status())) {
    return answer;
  }
  return PrintJournal(options, since, format);
}

struct HealthClearOptions {
  std::string run_dir = kRunDir;
  std::string host_root;
  std::string gpu;
  std::string output = "table";
  bool is_all = false;
  bool is_dry_run = false;
};

StatusOr<ExitCode> Clear(const HealthClearOptions& options) {
  RETURN_IF_ERROR(ParseOutputFormat(options.output).status());
  if (options.gpu.empty() && !options.is_all) {
    return InvalidArgument("GPU is missing: name a GPU, or use --all");
  }
  const std::string which = options.is_all ? "all=true" : "gpu=" + kube::Escape(options.gpu);
  return PostToAgent(BelowHostRoot(options.run_dir, kRunDir, options.host_root),
                     fmt::format("/v1/health/clear?{}{}&output={}", which,
                                 options.is_dry_run ? "&dryRun=true" : "", options.output));
}

void AddHistoryCommand(CLI::App& health, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<HealthOptions>(
      health, "history",
      "Show the health events of the GPUs, oldest first, across restarts and reboots", &History);
  command.footer(
      "Reads from the agent, or from its journal when no agent is running. The journal knows GPUs\n"
      "by their UUIDs: then the driver is asked which GPU an index or a PCI address is.\n"
      "\n"
      "  kgpu health history --since 24h\n"
      "  kgpu health history --gpu 3 --output json | jq '.entries[] | select(.kind == "
      "\"raised\")'");
  AddSinceOption(command, options.since);
  AddValue(command, "--gpu", options.gpu, "GPU",
           fmt::format("Only of this GPU: {}", device::kDeviceNames));
  AddOutputOption(command, options.output);
  AddRunDirOption(command, options.run_dir);
  AddStateDirOption(command, options.state_dir);
  AddHostOptions(command, options.host);
}

void AddClearCommand(CLI::App& health, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<HealthClearOptions>(
      health, "clear", "Mark a GPU healthy and clear its faults", &Clear);
  command.footer(
      "Use it for a device that failed too often to recover automatically, once the cause is "
      "fixed.\n"
      "A fault that persists is reported again immediately.\n"
      "\n"
      "  kgpu health clear 3\n"
      "  kgpu health clear --all --dry-run\n"
      "  kgpu health clear --all --output json | jq -r '.gpus[].uuid'");
  CLI::Option* gpu = command.add_option(
      "GPU", options.gpu, fmt::format("{}; a MIG device means its GPU", device::kDeviceNames));
  command.add_flag("--all", options.is_all, "All GPUs with a fault")->excludes(gpu);
  command.add_flag("--dry-run", options.is_dry_run,
                   "Print what would be cleared without changing it");
  AddOutputOption(command, options.output);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

struct RulesOptions {
  std::string output = "table";
  std::string config;
};

StatusOr<ExitCode> Rules(const RulesOptions& options) {
  ASSIGN_OR_RETURN(config::NodeConfig config, ReadNodeConfig(options.config));
  return PrintReference(options.output, report::RulesMarkdown(config.health),
                        report::RulesTable(config.health), report::RulesJson(config.health));
}

void AddRulesCommand(CLI::App& health, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<RulesOptions>(
      health, "rules", "Show what each XID and other fault means for a device, and how to fix it",
      &Rules);
  command.footer(
      "Includes the changes of health.rules in the configuration.\n"
      "\n"
      "  kgpu health rules\n"
      "  kgpu health rules --output json | jq '.rules[] | select(.xid == 79)'");
  AddValue(command, "--config", options.config, "FILE",
           "Configuration file (default: /etc/kgpu/config.yaml if it exists)");
  AddOutputOption(command, options.output, "table|json|yaml|markdown");
}

}  // namespace

void AddHealthCommands(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<HealthOptions>(
      registrar.app(), "health", "Show the health of the GPUs, their faults, and how to fix them",
      &ShowHealth);
  command.footer(
      "Exits 0 when every device can be allocated, 7 when one cannot or the driver does not "
      "answer.\n"
      "\n"
      "  kgpu health\n"
      "  kgpu health history --since 24h\n"
      "  kgpu health rules             what each XID means\n"
      "  kgpu health clear 3           put a GPU that failed too often back into use");
  AddOutputOption(command, options.output);
  command.add_flag(
      "--direct", options.is_direct,
      "Query the driver even if an agent is running (the agent knows about past events)");
  AddRunDirOption(command, options.run_dir);
  AddHostOptions(command, options.host);
  AddHistoryCommand(command, registrar);
  AddClearCommand(command, registrar);
  AddRulesCommand(command, registrar);
}

}  // namespace kgpu::cli
