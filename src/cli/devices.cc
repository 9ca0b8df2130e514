#include "src/cli/devices.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "src/cli/ask_agent.h"
#include "src/cli/host_options.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
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

// Whether the agent of this node can be asked: it watches the host that is meant.
bool IsAgentMeantForDevices(const DevicesOptions& options) {
  const HostOptions& host = options.host;
  return !options.is_direct && !options.is_watch && host.host_root.empty() &&
         host.driver_root.empty() && host.nvml_library.empty();
}

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
  if (IsAgentMeantForDevices(options)) {
    // It knows of faults that a look at the driver alone does not show.
    StatusOr<ExitCode> answer = PrintFromAgent(options.run_dir, "/v1/devices", format);
    if (answer.ok()) {
      return answer;
    }
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  if (options.is_watch) {
    RETURN_IF_ERROR(WatchDevices(options, root, format));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  RETURN_IF_ERROR(PrintOut(RenderSnapshot(*snapshot, format)));
  return report::IsAllWell(*snapshot) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddDevicesVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "devices", "List the GPUs and MIG devices of this host with health, memory, NUMA and links");
  verb->footer(
      "Exits 0 when every GPU is healthy, 7 when one is not or the driver does not answer.\n"
      "GPUs that PCI shows but the driver does not are listed with the reason and the mend.\n\n"
      "  kgpu devices\n"
      "  kgpu devices --output json | jq '.gpus[].uuid'\n"
      "  kgpu devices --watch          print every change as it happens");
  AddOutputOption(*verb, options->output);
  verb->add_flag("-w,--watch", options->is_watch,
                 "Go on printing changes until interrupted (json: one document a line)");
  verb->add_option(
          "--hold-down", options->hold_down,
          "With --watch: how long after a fault a GPU that answers again counts as healthy")
      ->type_name("DURATION")
      ->capture_default_str();
  verb->add_flag("--direct", options->is_direct,
                 "Ask the driver, also where an agent runs (its word is taken otherwise)");
  AddRunDirOption(*verb, options->run_dir);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] { return RunDevices(*options); });
}

}  // namespace kgpu::cli
