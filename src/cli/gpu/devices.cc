#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/node/report/devices_view.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cli {
namespace {

struct DevicesOptions {
  HostOptions host;
  std::string output = "table";
  bool is_watch = false;
  std::string hold_down = "60s";
  std::string run_dir = kRunDir;
  bool is_direct = false;
};

std::string RenderSnapshot(const device::Snapshot& snapshot, OutputFormat format) {
  return format == OutputFormat::kTable ? report::DevicesTable(snapshot)
                                        : Render(report::DevicesJson(snapshot), format);
}

// The first snapshot whole, then what changed: lines for people, one document a line for programs.
Status WatchDevices(const DevicesOptions& options, const host::DriverRoot& root,
                    OutputFormat format) {
  ASSIGN_OR_RETURN(const std::chrono::milliseconds hold_down,
                   ParseDuration("--hold-down", options.hold_down));
  device::SnapshotPtr last;
  Status status;
  RETURN_IF_ERROR(WatchSnapshots(
      options.host, root, {.hold_down = hold_down}, [&](const device::SnapshotPtr& snapshot) {
        std::string text;
        if (format == OutputFormat::kJson) {
          text = doc::PrintLine(report::DevicesJson(*snapshot)) + "\n";
        } else if (format == OutputFormat::kYaml) {
          text = "---\n" + Render(report::DevicesJson(*snapshot), format);
        } else {
          text = last ? report::DescribeChanges(*last, *snapshot) : report::DevicesTable(*snapshot);
        }
        last = snapshot;
        status = PrintOut(text);
        return status.ok();
      }));
  return status;
}

StatusOr<ExitCode> RunDevices(const DevicesOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (!options.is_direct && !options.is_watch && IsAgentsHost(options.host)) {
    // It knows of faults that a look at the driver alone does not show.
    StatusOr<ExitCode> answer = PrintFromAgent(
        BelowHostRoot(options.run_dir, kRunDir, options.host.host_root), "/v1/devices", format);
    if (answer.ok()) {
      NoteCudaObstacles("kgpu devices", options.host);
      return answer;
    }
    if (answer.status().code() == StatusCode::kPermissionDenied) {
      PrintNote(
          fmt::format("kgpu devices: {}; asking the driver instead, which does not know past "
                      "faults",
                      Message(answer.status())));
    }
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  if (options.is_watch) {
    return OkOr(WatchDevices(options, root, format));
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  RETURN_IF_ERROR(PrintOut(RenderSnapshot(*snapshot, format)));
  NoteCudaObstacles("kgpu devices", options.host);
  return report::IsAllHealthy(*snapshot) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddDevicesCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<DevicesOptions>(
      registrar.app(), "devices",
      "List the GPUs and MIG devices of this host with health, memory, NUMA node and links",
      &RunDevices);
  command.footer(
      "Exits 0 when every GPU is healthy, 7 when one is not or the driver does not answer.\n"
      "GPUs on the PCI bus that the driver does not report are listed with the reason and the "
      "fix.\n"
      "\n"
      "  kgpu devices\n"
      "  kgpu devices --output json | jq '.gpus[].uuid'\n"
      "  kgpu devices --watch          print each change as it happens");
  AddOutputOption(command, options.output);
  CLI::Option* watch =
      command.add_flag("-w,--watch", options.is_watch,
                       "Keep printing changes until interrupted (json: one document per line)");
  AddValue(command, "--hold-down", options.hold_down, "DURATION",
           "With --watch: how long a GPU must keep answering after a fault to count as healthy")
      ->needs(watch);
  command.add_flag("--direct", options.is_direct, "Query the driver even if an agent is running");
  AddRunDirOption(command, options.run_dir);
  AddHostOptions(command, options.host);
}

}  // namespace kgpu::cli
