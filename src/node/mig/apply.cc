#include "src/node/mig/apply.h"

#include <algorithm>
#include <utility>

#include "src/gpu/nvml/error_map.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::mig {
namespace {

template <typename T>
using Request = std::function<void(probe::Client& client, probe::AnswerTask<T> done)>;

bool IsSamePlace(const Instance& a, const Instance& b) {
  return a.kind == b.kind && a.start == b.start;
}

bool IsPartOf(const Instance& instance, const std::vector<Instance>& layout) {
  return std::ranges::any_of(layout,
                             [&](const Instance& other) { return IsSamePlace(instance, other); });
}

std::string PlaceText(const HostGpu& gpu, const Instance& instance) {
  return fmt::format("GPU {}: {} at memory slice {}", gpu.index, KindText(instance.kind),
                     instance.start);
}

std::string_view Word(bool is_enabled) {
  return is_enabled ? "on" : "off";
}

// A former change of the MIG mode that was pending, after everything else has been undone.
std::string PendingRemark(const Target& before, const HostGpu& now) {
  if (!before.is_pending_enabled) {
    return "";
  }
  return fmt::format("; GPU {}: MIG {} {} at the next reset{}", now.index,
                     now.is_mode_pending() ? "turns" : "does not turn",
                     Word(*before.is_pending_enabled),
                     now.is_mode_pending() ? ", as before" : " any more");
}

StatusOr<HostGpu> WithMig(HostGpu gpu) {
  if (gpu.geometry == nullptr) {
    return FailedPrecondition("GPU {} ({}) has no MIG", gpu.index, gpu.name);
  }
  return gpu;
}

}  // namespace

StatusOr<Target> TargetOf(const HostGpu& gpu) {
  Target target{.uuid = gpu.uuid, .is_mig_enabled = gpu.is_mig_enabled()};
  for (const probe::GpuInstanceReport& report : gpu.instances) {
    ASSIGN_OR_RETURN(Instance instance, InstanceOf(*gpu.geometry, report));
    target.layout.push_back(std::move(instance));
  }
  if (gpu.is_mode_pending()) {
    target.is_pending_enabled = !target.is_mig_enabled;
  }
  return target;
}

std::string StateText(const Target& target) {
  std::vector<std::string> instances;
  instances.reserve(target.layout.size());
  for (const Instance& instance : target.layout) {
    instances.push_back(fmt::format("{} at {}", KindText(instance.kind), instance.start));
  }
  const std::string pending =
      target.is_pending_enabled
          ? fmt::format(" ({} after a reset)", Word(*target.is_pending_enabled))
          : "";
  return fmt::format("MIG {}{}, {}", Word(target.is_mig_enabled), pending,
                     instances.empty() ? "no instances" : Join(instances, ", "));
}

std::vector<Target> TargetsOf(const Plan& plan, std::span<const HostGpu> gpus) {
  std::vector<Target> targets;
  targets.reserve(plan.changes.size());
  for (const GpuChange& change : plan.changes) {
    targets.push_back({.uuid = gpus[change.gpu].uuid,
                       .is_mig_enabled = !change.disables_mig,
                       .layout = change.layout});
  }
  return targets;
}

Status Applier::EnsureSession() {
  if (session_ == nullptr || session_->is_down()) {
    session_.reset();
    indexes_.clear();
    ASSIGN_OR_RETURN(session_, deps_.open());
  }
  return OkStatus();
}

StatusOr<HostGpu> Applier::Find(const device::GpuUuid& uuid) {
  RETURN_IF_ERROR(EnsureSession());
  // A GPU keeps its index within a session.
  if (const auto known = indexes_.find(uuid.str()); known != indexes_.end()) {
    ASSIGN_OR_RETURN(HostGpu gpu, ReadHostGpu(*session_, known->second));
    return WithMig(std::move(gpu));
  }
  std::vector<std::string> problems;
  ASSIGN_OR_RETURN(std::vector<HostGpu> gpus, ReadHostGpus(*session_, problems));
  for (const HostGpu& gpu : gpus) {
    indexes_[gpu.uuid.str()] = gpu.index;
  }
  const auto found = std::ranges::find(gpus, uuid, &HostGpu::uuid);
  if (found == gpus.end()) {
    return NotFound("{}: the driver does not list this GPU", uuid.str());
  }
  return WithMig(std::move(*found));
}

Status Applier::Apply(const std::vector<Target>& targets) {
  has_left_changes_ = false;
  std::vector<Target> before;  // of each GPU that may have been changed
  for (const Target& target : targets) {
    if (const Status status = Change(target, before); !status.ok()) {
      return before.empty() ? status : UndoAll(before, status);
    }
  }
  return OkStatus();
}

Status Applier::Change(const Target& target, std::vector<Target>& before) {
  ASSIGN_OR_RETURN(HostGpu gpu, Find(target.uuid));
  ASSIGN_OR_RETURN(Target present, TargetOf(gpu));
  before.push_back(std::move(present));
  ASSIGN_OR_RETURN(gpu, ApplyOne(std::move(gpu), target));
  if (target.is_pending_enabled && !gpu.is_mode_pending()) {
    deps_.note(fmt::format("GPU {}: MIG stays {} at the next reset", gpu.index,
                           Word(target.is_mig_enabled)));
  }
  return OkStatus();
}

Status Applier::UndoAll(const std::vector<Target>& before, const Status& error) {
  deps_.undoing(error);
  std::string left;
  std::string pending;
  for (size_t i = before.size(); i > 0; --i) {
    const auto now = FindAndApply(before[i - 1]);
    if (now.ok()) {
      pending += PendingRemark(before[i - 1], *now);
    } else {
      left += fmt::format("; {} keeps its changes: {}", before[i - 1].uuid.str(),
                          Message(now.status()));
    }
  }
  has_left_changes_ = !left.empty();
  return MakeStatus(error.code(),
                    fmt::format("{}{}{}", Message(error),
                                left.empty() ? "; the former layouts are back" : left, pending));
}

StatusOr<HostGpu> Applier::FindAndApply(const Target& target) {
  ASSIGN_OR_RETURN(HostGpu gpu, Find(target.uuid));
  return ApplyOne(std::move(gpu), target);
}

StatusOr<HostGpu> Applier::ApplyOne(HostGpu gpu, const Target& target) {
  const bool has_mode = gpu.is_mig_enabled() == target.is_mig_enabled;
  if (has_mode && gpu.is_mode_pending() && !target.is_pending_enabled) {
    RETURN_IF_ERROR(KeepMode(gpu));
  }
  RETURN_IF_ERROR(DestroyOthers(gpu, target.layout));
  if (!has_mode) {
    RETURN_IF_ERROR(SetMode(gpu, target.is_mig_enabled));
    ASSIGN_OR_RETURN(gpu, Find(target.uuid));
  }
  if (target.is_mig_enabled) {
    RETURN_IF_ERROR(CreateMissing(gpu, target.layout));
  }
  return Verify(target);
}

// The driver may have answered each step with success, and yet show another state.
StatusOr<HostGpu> Applier::Verify(const Target& target) {
  ASSIGN_OR_RETURN(HostGpu gpu, Find(target.uuid));
  ASSIGN_OR_RETURN(const Target present, TargetOf(gpu));
  const bool has_mode = present.is_mig_enabled == target.is_mig_enabled &&
                        (!present.is_pending_enabled || target.is_pending_enabled);
  const bool has_layout = present.layout.size() == target.layout.size() &&
                          std::ranges::all_of(present.layout, [&](const Instance& instance) {
                            return IsPartOf(instance, target.layout);
                          });
  if (has_mode && has_layout) {
    return gpu;
  }
  return FailedPrecondition(
      "GPU {}: the driver shows {} instead of {}: look for another program that changes MIG",
      gpu.index, StateText(present), StateText(target));
}

StatusOr<probe::MigModeReport> Applier::RequestMode(const HostGpu& gpu, bool is_enabled) {
  return session_->Await<probe::MigModeReport>(
      Request<probe::MigModeReport>([&](auto& client, auto done) {
        probe::SetMigMode(client, gpu.index, is_enabled, std::move(done));
      }));
}

Status Applier::KeepMode(const HostGpu& gpu) {
  const bool is_enabled = gpu.is_mig_enabled();
  ASSIGN_OR_RETURN(const auto mode, RequestMode(gpu, is_enabled));
  if (mode.mode.is_enabled != is_enabled || mode.mode.is_pending_enabled != is_enabled) {
    return FailedPrecondition(
        "GPU {}: MIG still turns {} at the next reset: try again once the GPU is idle", gpu.index,
        Word(!is_enabled));
  }
  deps_.note(fmt::format("GPU {}: MIG stays {} at the next reset", gpu.index, Word(is_enabled)));
  return OkStatus();
}

Status Applier::SetMode(const HostGpu& gpu, bool is_enabled) {
  const std::string_view word = Word(is_enabled);
  if (const auto users = UsersOf(gpu, std::nullopt); !users.empty() && deps_.evict) {
    RETURN_IF_ERROR(deps_.evict(gpu, users));
  }
  ASSIGN_OR_RETURN(const auto mode, RequestMode(gpu, is_enabled));
  if (mode.mode.is_enabled == is_enabled) {
    deps_.note(fmt::format("GPU {}: MIG is {}", gpu.index, word));
    return OkStatus();
  }
  if (mode.mode.is_pending_enabled != is_enabled) {
    return FailedPrecondition("GPU {}: MIG does not turn {}: {}", gpu.index, word,
                              nvml::Explain(mode.activation));
  }
  // The reset needs a GPU that nobody has open, our own probe included.
  session_.reset();
  RETURN_IF_ERROR(Annotate(deps_.reset(gpu), "GPU {}: MIG turns {} at a reset", gpu.index, word));
  ASSIGN_OR_RETURN(const HostGpu again, Find(gpu.uuid));
  if (again.is_mig_enabled() != is_enabled) {
    return FailedPrecondition(
        "GPU {}: MIG is not {} after the reset: reboot the host, then try "
        "again",
        gpu.index, word);
  }
  deps_.note(fmt::format("GPU {}: reset, MIG is {}", gpu.index, word));
  return OkStatus();
}

Status Applier::DestroyOthers(HostGpu& gpu, const std::vector<Instance>& layout) {
  for (const probe::GpuInstanceReport& report : gpu.instances) {
    const auto instance = InstanceOf(*gpu.geometry, report);
    if (instance.ok() && IsPartOf(*instance, layout)) {
      continue;
    }
    if (const auto users = UsersOf(gpu, report.id); !users.empty() && deps_.evict) {
      RETURN_IF_ERROR(deps_.evict(gpu, users));
    }
    RETURN_IF_ERROR(Destroy(gpu, report));
    deps_.note(fmt::format(
        "{} destroyed", instance.ok() ? PlaceText(gpu, *instance)
                                      : fmt::format("GPU {}: instance {}", gpu.index, report.id)));
  }
  return OkStatus();
}

Status Applier::Destroy(const HostGpu& gpu, const probe::GpuInstanceReport& instance) {
  for (const probe::ComputeInstanceReport& part : instance.compute) {
    RETURN_IF_ERROR(session_
                        ->Await<probe::Done>(Request<probe::Done>([&](auto& client, auto done) {
                          probe::DestroyComputeInstance(client, gpu.index, instance.id, part.id,
                                                        std::move(done));
                        }))
                        .status());
  }
  return session_
      ->Await<probe::Done>(Request<probe::Done>([&](auto& client, auto done) {
        probe::DestroyGpuInstance(client, gpu.index, instance.id, std::move(done));
      }))
      .status();
}

Status Applier::CreateMissing(const HostGpu& gpu, const std::vector<Instance>& layout) {
  ASSIGN_OR_RETURN(const Target present, TargetOf(gpu));
  for (const Instance& instance : layout) {
    if (!IsPartOf(instance, present.layout)) {
      RETURN_IF_ERROR(Annotate(Create(gpu, instance), "{}", PlaceText(gpu, instance)));
      deps_.note(fmt::format("{} created", PlaceText(gpu, instance)));
    }
  }
  return OkStatus();
}

Status Applier::Create(const HostGpu& gpu, const Instance& instance) {
  const auto index = gpu.geometry->Find(instance.kind.profile);
  if (!index) {
    return NotFound("the GPU has no such profile");
  }
  const device::MigProfile& profile = gpu.geometry->profiles()[*index];
  const probe::MigPlace place{
      .profile_id = profile.profile_id, .start = instance.start, .size = profile.memory_slices};
  ASSIGN_OR_RETURN(const auto made,
                   session_->Await<probe::CreatedInstance>(
                       Request<probe::CreatedInstance>([&](auto& client, auto done) {
                         probe::CreateGpuInstance(client, gpu.index, place, std::move(done));
                       })));
  if (made.start != instance.start) {
    return FailedPrecondition("the driver put it at memory slice {}", made.start);
  }
  std::vector<unsigned> parts = instance.kind.compute;
  if (parts.empty()) {
    parts = {profile.slices};
  }
  for (const unsigned slices : parts) {
    if (slices == 0) {
      continue;  // one that never had a compute instance
    }
    RETURN_IF_ERROR(session_
                        ->Await<unsigned>(Request<unsigned>([&](auto& client, auto done) {
                          probe::CreateComputeInstance(client, gpu.index, made.id, slices,
                                                       std::move(done));
                        }))
                        .status());
  }
  return OkStatus();
}

}  // namespace kgpu::mig
