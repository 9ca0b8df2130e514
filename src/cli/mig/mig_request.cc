#include "src/cli/mig/mig_request.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "src/cli/base/find_pods.h"
#include "src/cli/base/output.h"
#include "src/host/inspect/driver_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

constexpr char kProfileHelp[] =
    "Instances that must be free afterwards: 1g.10gb,3x2g.20gb,1c.3g.40gb";

// The configurations of --config, if one is selected.
StatusOr<std::optional<std::vector<mig::NamedConfig>>> ReadConfigs(const MigOptions& options) {
  if (options.select.empty() || options.config.empty()) {
    return std::nullopt;
  }
  const std::filesystem::path path(options.config);
  ASSIGN_OR_RETURN(const sys::Root folder, sys::Root::Open(path.parent_path().string()));
  ASSIGN_OR_RETURN(const std::string text,
                   folder.ReadFile(path.filename().string(), mig::kMaxConfigBytes));
  return mig::ParseConfigs(text, options.config);
}

// A file may serve nodes with more GPUs; a wrong index would go unnoticed without this.
void NoteUnusedIndexes(const MigOptions& options, const std::vector<mig::NamedConfig>& configs,
                       const std::vector<mig::HostGpu>& gpus) {
  const auto config = mig::SelectConfig(configs, options.select);
  const auto indexes =
      config.ok() ? mig::IndexesWithoutGpu(*config, gpus) : std::vector<unsigned>();
  if (!indexes.empty()) {
    PrintNote(fmt::format("kgpu mig: {}: {} also names GPU {}, which this host does not have",
                          options.config, options.select, fmt::join(indexes, ", ")));
  }
}

// With --idle-only, nobody looks at the change before it is made: what cannot be known is an error.
Status AddPodUsers(const MigOptions& options, const host::DriverRoot& root,
                   std::vector<mig::HostGpu>& gpus) {
  const std::string kubelet =
      options.kubelet_path.empty() ? root.host.At(options.kubelet_dir) : options.kubelet_path;
  std::error_code error;
  // A kubelet that is down leaves the folder.
  const char* mark = options.waits ? "/pod-resources" : "/pod-resources/kubelet.sock";
  if (!std::filesystem::exists(kubelet + mark, error)) {
    return OkStatus();  // nobody runs pods here
  }
  const auto pods = FindPods(root.host, kubelet, nullptr);
  if (!pods.ok() || !(*pods)->problem.empty()) {
    const std::string text = fmt::format("pods that hold devices are not known: {}",
                                         pods.ok() ? (*pods)->problem : Message(pods.status()));
    if (options.waits) {
      return Unavailable("{}", text);
    }
    PrintNote("kgpu mig: " + text);
    return OkStatus();
  }
  for (const pods::DeviceUse& use : (*pods)->devices) {
    mig::AddDeviceUser(
        gpus,
        use.is_claimed() ? std::string_view(use.claim.cdi_uuid) : pods::DeviceOf(use.device_id),
        fmt::format("pod {}/{}", use.user.pod_namespace, use.user.pod));
  }
  return OkStatus();
}

}  // namespace

void AddMigHostFlags(CLI::App& command, MigOptions& options) {
  AddValue(command, "--gpu", options.gpus, "GPU",
           "GPUs, by index or UUID, separated by commas (default: all with MIG)")
      ->delimiter(',');
  AsPath(AddValue(command, "--kubelet-dir", options.kubelet_dir, "DIR",
                  "The kubelet's folder on the host"));
  AsPath(AddValue(command, "--kubelet-path", options.kubelet_path, "DIR",
                  "The same folder as this program sees it (default: below the host root)"));
  AddHostOptions(command, options.host);
}

void AddMigLayoutFlags(CLI::App& command, MigOptions& options) {
  CLI::Option* layout =
      AddValue(command, "--layout", options.layout, "LIST",
               "Exactly the instances of each GPU: 3g.40gb,3g.40gb; none for an empty GPU");
  CLI::Option* select = AddValue(
      command, "--select", options.select, "NAME",
      "A named configuration: all-1g.10gb, all-balanced, all-disabled, or one of --config");
  layout->excludes(select);
  AsPath(AddValue(command, "--config", options.config, "FILE",
                  "File with configurations, as mig-parted reads it"))
      ->needs(select);
}

void AddMigGoalFlags(CLI::App& command, MigOptions& options) {
  AddValue(command, "--profiles", options.profiles, "LIST", kProfileHelp);
  AddMigLayoutFlags(command, options);
  command.add_flag("--evict", options.may_evict,
                   "Also change instances in use, after ending their processes");
}

StatusOr<std::unique_ptr<mig::DriverSession>> OpenMigSession(const HostOptions& options,
                                                             const host::DriverRoot& root) {
  probe::ClientOptions client;
  ASSIGN_OR_RETURN(client.program, FindProbe(options));
  return mig::DriverSession::Open(std::move(client), [&]() -> StatusOr<std::string> {
    if (!options.nvml_library.empty()) {
      return options.nvml_library;
    }
    ASSIGN_OR_RETURN(const std::string path, host::FindNvmlLibrary(root.driver));
    return root.driver.At(path);
  });
}

StatusOr<std::vector<mig::HostGpu>> ReadMigGpus(const MigOptions& options,
                                                const host::DriverRoot& root) {
  ASSIGN_OR_RETURN(const auto session, OpenMigSession(options.host, root));
  std::vector<std::string> problems;
  ASSIGN_OR_RETURN(std::vector<mig::HostGpu> gpus, mig::ReadHostGpus(*session, problems));
  PrintNotes(problems, "kgpu mig: ");
  RETURN_IF_ERROR(AddPodUsers(options, root, gpus));
  std::vector<std::string> left_out;
  // An agent names GPUs by UUID that may be lost by now: the others need not wait for them.
  auto kept = mig::KeepNamed(gpus, options.gpus,
                             options.waits ? mig::Lost::kLeaveOut : mig::Lost::kRefuse, left_out);
  for (const std::string& name : left_out) {
    PrintNote(fmt::format("kgpu mig: {} is left out: the driver does not list it", name));
  }
  return kept;
}

std::vector<std::string> MigUuidsOf(const std::vector<mig::HostGpu>& gpus) {
  std::vector<std::string> uuids;
  uuids.reserve(gpus.size());
  for (const mig::HostGpu& gpu : gpus) {
    uuids.push_back(gpu.uuid.str());
  }
  return uuids;
}

std::vector<std::string> MigNamesOf(const std::vector<mig::HostGpu>& gpus) {
  std::vector<std::string> names;
  names.reserve(gpus.size());
  for (const mig::HostGpu& gpu : gpus) {
    names.push_back(fmt::format("{}", gpu.index));
  }
  return names;
}

StatusOr<mig::Plan> MakeMigPlan(const MigOptions& options, const std::vector<mig::HostGpu>& gpus) {
  ASSIGN_OR_RETURN(auto configs, ReadConfigs(options));
  if (configs && options.gpus.empty()) {
    NoteUnusedIndexes(options, *configs, gpus);
  }
  return mig::PlanHost({.profiles = options.profiles,
                        .layout = options.layout,
                        .select = options.select,
                        .configs = std::move(configs),
                        .in_use = options.may_evict ? mig::InUse::kMayMove : mig::InUse::kStays,
                        .busy = options.waits ? mig::Busy::kWait : mig::Busy::kRefuse},
                       gpus);
}

StatusOr<mig::ModelPlan> MakeModelPlan(const MigOptions& options) {
  const auto count = ParseUint(options.count);
  if (!count || *count == 0 || *count > mig::kMostModelGpus) {
    return InvalidArgument("--count: \"{}\" must be a number from 1 to {}",
                           Printable(options.count, 20), mig::kMostModelGpus);
  }
  return mig::PlanModel({.model = options.model,
                         .count = static_cast<unsigned>(*count),
                         .have = options.have,
                         .profiles = options.profiles});
}

}  // namespace kgpu::cli
