#include "src/cli/mig/mig_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/cli/base/find_pods.h"
#include "src/cli/base/output.h"
#include "src/gpu/device/mig.h"
#include "src/host/inspect/driver_files.h"
#include "src/node/mig/model_plan.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

constexpr char kProfileHelp[] =
    "Instances that must be free afterwards: 1g.10gb,3x2g.20gb,1c.3g.40gb";
constexpr unsigned kMostGpus = 128;

// "none" is a list without instances.
StatusOr<std::vector<mig::Demand>> DemandsOfText(const std::string& flag, const std::string& text) {
  if (text == "none") {
    return std::vector<mig::Demand>();
  }
  const auto entries = mig::ParseEntries(text);
  RETURN_IF_ERROR(Annotate(entries.status(), "{}", flag));
  for (const mig::Entry& entry : *entries) {
    if (entry.start) {
      return InvalidArgument("{}: {}@{}: the planner chooses the memory slices", flag,
                             entry.profile, *entry.start);
    }
  }
  return mig::DemandsOf(*entries);
}

StatusOr<std::vector<mig::NamedConfig>> ConfigsOf(const MigOptions& options,
                                                  const std::vector<mig::HostGpu>& gpus) {
  if (options.config.empty()) {
    return mig::GeneratedConfigs(gpus);
  }
  const std::filesystem::path path(options.config);
  const auto folder = sys::Root::Open(path.parent_path().string());
  RETURN_IF_ERROR(folder.status());
  ASSIGN_OR_RETURN(const std::string text,
                   folder->ReadFile(path.filename().string(), mig::kMaxConfigBytes));
  return mig::ParseConfigs(text, options.config);
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

// An agent names GPUs by UUID that may be lost by now: the others need not wait for them.
bool MayBeLeftOut(const MigOptions& options, const std::string& name) {
  return options.waits && options.gpus.size() > 1 && device::GpuUuid::Parse(name).ok();
}

Status KeepNamed(const MigOptions& options, std::vector<mig::HostGpu>& gpus) {
  if (options.gpus.empty()) {
    return OkStatus();
  }
  std::vector<mig::HostGpu> named;
  for (const std::string& name : options.gpus) {
    const auto found = std::ranges::find_if(
        gpus, [&](const mig::HostGpu& gpu) { return mig::IsNamed(gpu, name); });
    if (found == gpus.end() && MayBeLeftOut(options, name)) {
      PrintNote(fmt::format("kgpu mig: {} is left out: the driver does not list it", name));
      continue;
    }
    if (found == gpus.end()) {
      return NotFound("--gpu {}: no such GPU: kgpu devices lists them", Printable(name, 80));
    }
    if (found->geometry == nullptr) {
      return FailedPrecondition("--gpu {}: {} has no MIG", Printable(name, 80), found->name);
    }
    const bool is_known = std::ranges::find(named, found->uuid, &mig::HostGpu::uuid) != named.end();
    if (!is_known) {
      named.push_back(*found);
    }
  }
  if (named.empty()) {
    return NotFound("--gpu: none of these GPUs is there: kgpu devices lists them");
  }
  gpus = std::move(named);
  return OkStatus();
}

StatusOr<std::vector<mig::GpuState>> StatesOf(const MigOptions& options,
                                              const std::vector<mig::HostGpu>& gpus) {
  std::vector<mig::GpuState> states;
  for (const mig::HostGpu& gpu : gpus) {
    ASSIGN_OR_RETURN(
        mig::GpuState state,
        mig::StateOf(gpu, options.may_evict ? mig::InUse::kMayMove : mig::InUse::kStays));
    states.push_back(std::move(state));
  }
  return states;
}

// Errors: InvalidArgument (--have).
StatusOr<std::vector<std::vector<mig::Instance>>> WaysOf(const mig::Geometry& geometry,
                                                         const std::string& have) {
  const auto entries = mig::ParseEntries(have);
  RETURN_IF_ERROR(Annotate(entries.status(), "--have"));
  auto ways = mig::WaysToHave(geometry, *entries);
  if (ways.empty()) {
    return InvalidArgument("--have: no GPU of this model can have {}", Printable(have, 200));
  }
  return ways;
}

// Whom the GPUs wait for.
void NameUsers(const std::vector<mig::HostGpu>& gpus, mig::Plan& plan) {
  constexpr size_t kNamed = 3;
  for (size_t i = 0; i < plan.waiting.size(); ++i) {
    std::vector<std::string> users;
    for (const mig::User& user : gpus[plan.waiting_gpus[i]].users) {
      if (std::ranges::find(users, user.text) == users.end()) {
        users.push_back(user.text);
      }
    }
    if (users.size() > kNamed) {
      const size_t others = users.size() - kNamed;
      users.resize(kNamed);
      users.push_back(fmt::format("{} more", others));
    }
    plan.waiting[i] += fmt::format(" (used by {})", Join(users, ", "));
  }
}

std::vector<std::string> ProfilesOf(const std::vector<mig::Demand>& demands) {
  std::vector<std::string> names;
  names.reserve(demands.size());
  for (const mig::Demand& demand : demands) {
    names.push_back(demand.kind.profile);
  }
  return names;
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
  RETURN_IF_ERROR(KeepNamed(options, gpus));
  return gpus;
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

StatusOr<std::vector<mig::Goal>> MigGoalsOf(const MigOptions& options,
                                            const std::vector<mig::HostGpu>& gpus) {
  if (options.layout.empty() == options.select.empty()) {
    return InvalidArgument("give one of --layout and --select");
  }
  if (!options.select.empty()) {
    ASSIGN_OR_RETURN(const auto configs, ConfigsOf(options, gpus));
    ASSIGN_OR_RETURN(const mig::NamedConfig config, mig::SelectConfig(configs, options.select));
    return mig::GoalsOf(config, gpus, options.gpus.empty() ? mig::Scope::kAll : mig::Scope::kSome);
  }
  ASSIGN_OR_RETURN(const auto layout, DemandsOfText("--layout", options.layout));
  std::vector<mig::Goal> goals;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].geometry != nullptr) {
      goals.push_back({.gpu = i, .is_mig_enabled = true, .layout = layout});
    }
  }
  return goals;
}

StatusOr<mig::Plan> MakeMigPlan(const MigOptions& options, const std::vector<mig::HostGpu>& gpus) {
  std::vector<mig::HostGpu> capable = gpus;
  std::erase_if(capable, [](const mig::HostGpu& gpu) { return gpu.geometry == nullptr; });
  if (capable.empty()) {
    return FailedPrecondition("no GPU of this host has MIG: kgpu devices lists them");
  }
  if (options.profiles.empty()) {
    ASSIGN_OR_RETURN(const auto goals, MigGoalsOf(options, gpus));
    std::vector<mig::GpuState> states(gpus.size());
    for (const mig::Goal& goal : goals) {
      ASSIGN_OR_RETURN(auto one, StatesOf(options, {gpus[goal.gpu]}));
      states[goal.gpu] = std::move(one.front());
    }
    ASSIGN_OR_RETURN(
        mig::Plan plan,
        mig::PlanGoals(states, goals, options.waits ? mig::Busy::kWait : mig::Busy::kRefuse));
    NameUsers(gpus, plan);
    return plan;
  }
  if (!options.layout.empty() || !options.select.empty()) {
    return InvalidArgument("give one of --profiles, --layout and --select");
  }
  ASSIGN_OR_RETURN(const auto demand, DemandsOfText("--profiles", options.profiles));
  ASSIGN_OR_RETURN(const auto states, StatesOf(options, capable));
  ASSIGN_OR_RETURN(mig::Plan plan, mig::PlanDemand(states, demand));
  for (mig::GpuChange& change : plan.changes) {
    const auto index = std::ranges::find(gpus, capable[change.gpu].uuid, &mig::HostGpu::uuid);
    change.gpu = static_cast<size_t>(index - gpus.begin());
  }
  return plan;
}

StatusOr<ModelPlan> MakeModelPlan(const MigOptions& options) {
  const auto count = ParseUint(options.count);
  if (!count || *count == 0 || *count > kMostGpus) {
    return InvalidArgument("--count: \"{}\" must be a number from 1 to {}",
                           Printable(options.count, 20), kMostGpus);
  }
  if (options.profiles.empty()) {
    return InvalidArgument("--model: give --profiles");
  }
  ASSIGN_OR_RETURN(const auto demand, DemandsOfText("--profiles", options.profiles));
  const auto model = device::FindMigModel(options.model, ProfilesOf(demand));
  RETURN_IF_ERROR(Annotate(model.status(), "--model"));
  ASSIGN_OR_RETURN(mig::Geometry made, mig::Geometry::OfModel(model->pci_device_ids.front()));
  const auto geometry = std::make_shared<const mig::Geometry>(std::move(made));
  for (const mig::Demand& wanted : demand) {
    if (!geometry->Find(wanted.kind.profile)) {
      std::vector<std::string> names;
      names.reserve(geometry->profiles().size());
      for (const device::MigProfile& profile : geometry->profiles()) {
        names.push_back(profile.name);
      }
      return InvalidArgument("--profiles: {} has no profile {}; it has {}", model->name,
                             wanted.kind.profile, Join(names, ", "));
    }
  }
  ASSIGN_OR_RETURN(const auto ways, WaysOf(*geometry, options.have));
  ASSIGN_OR_RETURN(mig::PlannedGpus best, mig::PlanBestOf(geometry, *count, ways, demand));
  return ModelPlan{
      .model = model->name, .gpus = std::move(best.gpus), .plan = std::move(best.plan)};
}

}  // namespace kgpu::cli
