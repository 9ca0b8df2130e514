#include "testing/driver/mig.h"

#include <algorithm>
#include <string>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/faults.h"

namespace kgpu::sim {

namespace {

constexpr uint32_t kComputeSlices[] = {1, 2, 3, 4, 7};  // by NVML_COMPUTE_INSTANCE_PROFILE_*

Status CheckMig(const SimState& state, uint32_t slot) {
  if (slot >= state.gpu_count || state.gpus[slot].is_present == 0) {
    return NotFound("slot {}: no GPU there", slot);
  }
  const SimGpu& gpu = state.gpus[slot];
  if (gpu.mig.is_capable == 0) {
    return Unimplemented("GPU {} ({}) does not support MIG", gpu.uuid, gpu.name);
  }
  return OkStatus();
}

Status CheckMigEnabled(const SimState& state, uint32_t slot) {
  RETURN_IF_ERROR(CheckMig(state, slot));
  if (state.gpus[slot].mig.mode == 0) {
    return FailedPrecondition("MIG mode of GPU {} is disabled{}", state.gpus[slot].uuid,
                              state.gpus[slot].mig.pending_mode != 0
                                  ? " until the GPU is reset: run heal"
                                  : ": enable it with mig-mode");
  }
  return OkStatus();
}

StatusOr<SimGpuInstance*> FindInstance(SimState& state, uint32_t slot, uint32_t gi) {
  RETURN_IF_ERROR(CheckMigEnabled(state, slot));
  SimMig& mig = state.gpus[slot].mig;
  if (gi >= kMaxGpuInstances || mig.instances[gi].exists == 0) {
    return NotFound("GPU instance {}: not on GPU {}", gi, state.gpus[slot].uuid);
  }
  return &mig.instances[gi];
}

bool Overlaps(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size) {
  return a < b + b_size && b < a + a_size;
}

bool HasProcesses(const SimGpu& gpu, uint32_t gi, uint32_t ci) {
  return std::ranges::any_of(gpu.processes, [&](const SimProcess& process) {
    return process.pid != 0 && (gi == kUnsupported || process.gpu_instance == gi) &&
           (ci == kUnsupported || process.compute_instance == ci);
  });
}

// Ids count the nodes of the binary tree of memory slices, level by level.
uint32_t InstanceId(const SimMig& mig, uint32_t start, uint32_t size) {
  return mig.memory_slice_count / size - 1 + start / size;
}

void NotifyConfigChange(SimState& state, uint32_t slot) {
  SimEvent event = {};
  event.type = nvml::kEventMigConfig;
  event.gpu = slot;
  event.gpu_instance = kUnsupported;
  event.compute_instance = kUnsupported;
  PushEvent(state, event);
}

uint64_t Mix(uint64_t& seed) {  // splitmix64
  seed += 0x9e3779b97f4a7c15ULL;
  uint64_t z = seed;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Never the same twice on a host, and the same again when a test repeats itself.
std::string FreshUuid(const SimGpu& gpu, uint32_t gi, uint32_t ci) {
  uint64_t seed = (uint64_t{gpu.mig.creations} << 16) | (gi << 8) | ci;
  for (const char c : std::string_view(gpu.uuid)) {
    seed = seed * 1099511628211ULL + static_cast<unsigned char>(c);
  }
  const uint64_t high = Mix(seed);
  const uint64_t low = Mix(seed);
  return fmt::format("MIG-{:08x}-{:04x}-5{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffff);
}

StatusOr<uint32_t> ChoosePlacement(const SimMig& mig, const SimMigProfile& profile,
                                   std::optional<uint32_t> start) {
  const std::vector<uint32_t> free = FreePlacements(mig, profile);
  if (start.has_value()) {
    const auto* end = profile.placements + profile.placement_count;
    if (std::find(profile.placements, end, *start) == end) {
      return InvalidArgument("start: {} is not a placement of {}", *start, profile.name);
    }
    if (!std::ranges::binary_search(free, *start)) {
      return ResourceExhausted("{} does not fit at memory slice {}: it is in use", profile.name,
                               *start);
    }
    return *start;
  }
  if (free.empty()) {
    return ResourceExhausted("{}: no placement is left; destroy an instance first", profile.name);
  }
  return free.back();
}

// The first compute slice of `gpu_instance` with room for `slices`, if there is one.
std::optional<uint32_t> FreeComputeStart(const SimGpuInstance& gpu_instance, uint32_t slices,
                                         uint32_t available) {
  for (uint32_t start = 0; start + slices <= available; ++start) {
    const bool is_free =
        std::ranges::none_of(gpu_instance.compute_instances, [&](const SimComputeInstance& other) {
          return other.exists != 0 &&
                 Overlaps(start, slices, other.placement_start, other.compute_slices);
        });
    if (is_free) {
      return start;
    }
  }
  return std::nullopt;
}

// The media engines of the GPU are all that its instances have together: with "+me.all", others
// only fit without any.
bool HasMediaEngines(const SimMig& mig, const SimMigProfile& profile) {
  uint32_t decoders = profile.decoders;
  uint32_t flow_engines = profile.ofa_engines;
  uint32_t all_decoders = 0;
  uint32_t all_flow_engines = 0;
  for (uint32_t i = 0; i < std::min(mig.profile_count, kMaxMigProfiles); ++i) {
    all_decoders = std::max(all_decoders, mig.profiles[i].decoders);
    all_flow_engines = std::max(all_flow_engines, mig.profiles[i].ofa_engines);
  }
  for (const SimGpuInstance& instance : mig.instances) {
    const SimMigProfile* other =
        instance.exists == 0 ? nullptr : FindMigProfileById(mig, instance.profile_id);
    decoders += other == nullptr ? 0 : other->decoders;
    flow_engines += other == nullptr ? 0 : other->ofa_engines;
  }
  return decoders <= all_decoders && flow_engines <= all_flow_engines;
}

template <typename Predicate>
const SimMigProfile* FindProfile(const SimMig& mig, Predicate predicate) {
  const uint32_t count = std::min(mig.profile_count, kMaxMigProfiles);
  const auto* end = mig.profiles + count;
  const auto* found = std::find_if(mig.profiles, end, predicate);
  return found == end ? nullptr : found;
}

}  // namespace

const SimMigProfile* FindMigProfileById(const SimMig& mig, uint32_t id) {
  return FindProfile(mig, [&](const SimMigProfile& profile) { return profile.id == id; });
}

const SimMigProfile* FindMigProfileByIndex(const SimMig& mig, uint32_t index) {
  return FindProfile(mig, [&](const SimMigProfile& profile) { return profile.index == index; });
}

const SimMigProfile* FindMigProfileByName(const SimMig& mig, std::string_view name) {
  if (name.starts_with("MIG ")) {
    name.remove_prefix(4);
  }
  return FindProfile(mig, [&](const SimMigProfile& profile) { return name == profile.name; });
}

std::vector<uint32_t> FreePlacements(const SimMig& mig, const SimMigProfile& profile) {
  uint32_t same = 0;
  bool has_media_instance = false;
  for (const SimGpuInstance& instance : mig.instances) {
    if (instance.exists == 0) {
      continue;
    }
    const SimMigProfile* other = FindMigProfileById(mig, instance.profile_id);
    same += instance.profile_id == profile.id ? 1 : 0;
    has_media_instance |= other != nullptr && other->has_media_extensions != 0;
  }
  std::vector<uint32_t> free;
  if (same >= profile.max_instances || (profile.has_media_extensions != 0 && has_media_instance) ||
      !HasMediaEngines(mig, profile)) {
    return free;
  }
  const uint32_t count = std::min(profile.placement_count, kMaxPlacements);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t start = profile.placements[i];
    const bool is_free = std::ranges::none_of(mig.instances, [&](const SimGpuInstance& instance) {
      return instance.exists != 0 && Overlaps(start, profile.memory_slices,
                                              instance.placement_start, instance.placement_size);
    });
    if (is_free) {
      free.push_back(start);
    }
  }
  std::ranges::sort(free);
  return free;
}

std::optional<uint32_t> ComputeProfileOfSlices(uint32_t slices) {
  const auto* found = std::ranges::find(kComputeSlices, slices);
  if (found == std::end(kComputeSlices)) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(found - std::begin(kComputeSlices));
}

std::optional<uint32_t> ComputeSlicesOfProfile(uint32_t profile) {
  if (profile >= std::size(kComputeSlices)) {
    return std::nullopt;
  }
  return kComputeSlices[profile];
}

Status SetMigMode(SimState& state, uint32_t slot, bool is_enabled) {
  RETURN_IF_ERROR(CheckMig(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (gpu.mig.needs_reset == 0 && HasProcesses(gpu, kUnsupported, kUnsupported)) {
    return FailedPrecondition("GPU {} is in use by processes: stop them first", gpu.uuid);
  }
  gpu.mig.pending_mode = is_enabled ? 1 : 0;
  if (gpu.mig.needs_reset == 0) {
    ApplyPendingMigMode(state, slot);
  }
  NotifyConfigChange(state, slot);
  return OkStatus();
}

Status ActivateMigMode(SimState& state, uint32_t slot) {
  RETURN_IF_ERROR(CheckMig(state, slot));
  const SimMig& mig = state.gpus[slot].mig;
  if (mig.mode == mig.pending_mode) {
    return OkStatus();  // nothing to activate
  }
  if (HasProcesses(state.gpus[slot], kUnsupported, kUnsupported)) {
    return FailedPrecondition("GPU {} is in use by processes: stop them first",
                              state.gpus[slot].uuid);
  }
  ApplyPendingMigMode(state, slot);
  return OkStatus();
}

void ApplyPendingMigMode(SimState& state, uint32_t slot) {
  SimGpu& gpu = state.gpus[slot];
  if (gpu.mig.mode == gpu.mig.pending_mode) {
    return;
  }
  if (gpu.mig.pending_mode == 0 && gpu.mig.mode != 0) {
    for (SimGpuInstance& instance : gpu.mig.instances) {
      instance = SimGpuInstance{};
    }
  }
  gpu.mig.mode = gpu.mig.pending_mode;
  NotifyConfigChange(state, slot);
}

StatusOr<uint32_t> CreateGpuInstance(SimState& state, uint32_t slot, uint32_t profile_id,
                                     std::optional<uint32_t> start) {
  RETURN_IF_ERROR(CheckMigEnabled(state, slot));
  SimGpu& gpu = state.gpus[slot];
  const SimMigProfile* profile = FindMigProfileById(gpu.mig, profile_id);
  if (profile == nullptr || profile->memory_slices == 0) {
    return NotFound("GPU instance profile {}: not supported by {}", profile_id, gpu.name);
  }
  ASSIGN_OR_RETURN(const uint32_t place, ChoosePlacement(gpu.mig, *profile, start));
  const uint32_t id = InstanceId(gpu.mig, place, profile->memory_slices);
  if (id >= kMaxGpuInstances || gpu.mig.instances[id].exists != 0) {
    return Internal("GPU instance id {} of {} is not free", id, profile->name);
  }
  SimGpuInstance instance = {};
  instance.exists = 1;
  instance.id = id;
  instance.profile_id = profile_id;
  instance.placement_start = place;
  instance.placement_size = profile->memory_slices;
  instance.cap_minor = GpuInstanceCapMinor(gpu.minor, id);
  gpu.mig.instances[id] = instance;
  NotifyConfigChange(state, slot);
  return id;
}

Status DestroyGpuInstance(SimState& state, uint32_t slot, uint32_t gi) {
  ASSIGN_OR_RETURN(SimGpuInstance * instance, FindInstance(state, slot, gi));
  if (std::ranges::any_of(instance->compute_instances,
                          [](const SimComputeInstance& ci) { return ci.exists != 0; })) {
    return FailedPrecondition("GPU instance {} has compute instances: destroy them first", gi);
  }
  *instance = SimGpuInstance{};
  NotifyConfigChange(state, slot);
  return OkStatus();
}

StatusOr<uint32_t> CreateComputeInstance(SimState& state, uint32_t slot, uint32_t gi,
                                         uint32_t profile) {
  ASSIGN_OR_RETURN(SimGpuInstance * instance, FindInstance(state, slot, gi));
  SimGpu& gpu = state.gpus[slot];
  const SimMigProfile* gi_profile = FindMigProfileById(gpu.mig, instance->profile_id);
  const auto slices = ComputeSlicesOfProfile(profile);
  const uint32_t available = gi_profile == nullptr ? 0 : gi_profile->compute_slices;
  if (!slices.has_value() || *slices > available) {
    return NotFound("compute instance profile {}: GPU instance {} has {} slices", profile, gi,
                    available);
  }
  const auto start = FreeComputeStart(*instance, *slices, available);
  auto* const free_place =
      std::ranges::find(instance->compute_instances, 0U, &SimComputeInstance::exists);
  if (!start.has_value() || free_place == std::end(instance->compute_instances)) {
    return ResourceExhausted("GPU instance {} has no {} compute slices left", gi, *slices);
  }
  const auto id = static_cast<uint32_t>(free_place - instance->compute_instances);
  SimComputeInstance made = {};
  made.exists = 1;
  made.id = id;
  made.profile = profile;
  made.compute_slices = *slices;
  made.placement_start = *start;
  made.cap_minor = ComputeInstanceCapMinor(gpu.minor, gi, id);
  ++gpu.mig.creations;
  RETURN_IF_ERROR(SetText(made.uuid, sizeof(made.uuid), "uuid", FreshUuid(gpu, gi, id)));
  *free_place = made;
  NotifyConfigChange(state, slot);
  return id;
}

Status DestroyComputeInstance(SimState& state, uint32_t slot, uint32_t gi, uint32_t ci) {
  ASSIGN_OR_RETURN(SimGpuInstance * instance, FindInstance(state, slot, gi));
  if (ci >= kMaxComputeInstances || instance->compute_instances[ci].exists == 0) {
    return NotFound("compute instance {}: not in GPU instance {}", ci, gi);
  }
  if (HasProcesses(state.gpus[slot], gi, ci)) {
    return FailedPrecondition(
        "compute instance {} of GPU instance {} is in use by processes: stop them first", ci, gi);
  }
  instance->compute_instances[ci] = SimComputeInstance{};
  NotifyConfigChange(state, slot);
  return OkStatus();
}

StatusOr<uint32_t> MigCreate(SimState& state, uint32_t slot, std::string_view profile,
                             std::optional<uint32_t> start) {
  RETURN_IF_ERROR(CheckMigEnabled(state, slot));
  const SimMig& mig = state.gpus[slot].mig;
  const SimMigProfile* wanted = FindMigProfileByName(mig, profile);
  if (wanted == nullptr) {
    std::vector<std::string_view> names;
    names.reserve(kMaxMigProfiles);
    for (uint32_t i = 0; i < std::min(mig.profile_count, kMaxMigProfiles); ++i) {
      names.emplace_back(mig.profiles[i].name);
    }
    const auto nearest = Nearest(profile, names);
    return NotFound("profile \"{}\": not supported by {}{}", Printable(profile),
                    state.gpus[slot].name,
                    nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  const auto compute_profile = ComputeProfileOfSlices(wanted->compute_slices);
  if (!compute_profile.has_value()) {
    return Internal("profile {}: no compute instance has {} slices", wanted->name,
                    wanted->compute_slices);
  }
  ASSIGN_OR_RETURN(const uint32_t gi, CreateGpuInstance(state, slot, wanted->id, start));
  // The whole of a new GPU instance is free: this cannot be refused.
  RETURN_IF_ERROR(CreateComputeInstance(state, slot, gi, *compute_profile).status());
  return gi;
}

Status MigDestroy(SimState& state, uint32_t slot, std::optional<uint32_t> gi) {
  if (gi.has_value()) {
    RETURN_IF_ERROR(FindInstance(state, slot, *gi).status());
  } else {
    RETURN_IF_ERROR(CheckMigEnabled(state, slot));
  }
  SimGpu& gpu = state.gpus[slot];
  if (HasProcesses(gpu, gi.value_or(kUnsupported), kUnsupported)) {
    return FailedPrecondition("instances of GPU {} are in use by processes: stop them first",
                              gpu.uuid);
  }
  for (SimGpuInstance& instance : gpu.mig.instances) {
    if (!gi.has_value() || (instance.exists != 0 && instance.id == *gi)) {
      instance = SimGpuInstance{};
    }
  }
  NotifyConfigChange(state, slot);
  return OkStatus();
}

}  // namespace kgpu::sim
