#include "testing/driver/faults.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/nvml/abi.h"
#include "testing/driver/fields.h"
#include "testing/driver/mig.h"

namespace kgpu::sim {

namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000;
constexpr uint32_t kXidFallenOffBus = 79;
constexpr uint64_t kReasonHwThermalSlowdown = 0x40;
constexpr uint32_t kLocationDeviceMemory = 2;

Status CheckSlot(const SimState& state, uint32_t slot) {
  if (slot >= state.gpu_count || state.gpus[slot].is_present == 0) {
    return NotFound("slot {}: no GPU there; `kgpu-sim devices` lists them", slot);
  }
  return OkStatus();
}

auto PciKey(const SimPci& pci) {
  return std::make_tuple(pci.domain, pci.bus, pci.device, pci.function);
}

std::string PciText(const SimPci& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

SimEvent EventOf(uint32_t slot, uint64_t type, uint64_t data) {
  SimEvent event = {};
  event.gpu = slot;
  event.type = type;
  event.data = data;
  event.gpu_instance = kUnsupported;
  event.compute_instance = kUnsupported;
  return event;
}

// Sets the knob for `function`: the one that has it already, or a free one.
Status SetKnob(SimKnob (&knobs)[kMaxKnobs], std::string_view function, uint32_t hang,
               uint64_t slow_ns) {
  if (!function.empty() && !function.starts_with("nvml")) {
    return InvalidArgument("function: \"{}\" must be an NVML name such as nvmlDeviceGetTemperature",
                           Printable(function));
  }
  SimKnob* chosen = nullptr;
  for (SimKnob& knob : knobs) {
    const bool is_same = knob.is_set != 0 && std::string_view(knob.function) == function;
    if (is_same || (chosen == nullptr && knob.is_set == 0)) {
      chosen = &knob;
    }
    if (is_same) {
      break;
    }
  }
  if (chosen == nullptr) {
    return ResourceExhausted("{} functions are slow or hang already: heal first", kMaxKnobs);
  }
  SimKnob next = {};
  RETURN_IF_ERROR(SetText(next.function, sizeof(next.function), "function", function));
  next.is_set = 1;
  next.hang = hang;
  next.slow_ns = slow_ns;
  *chosen = next;
  return OkStatus();
}

StatusOr<SimKnob (*)[kMaxKnobs]> KnobsOf(SimState& state, std::optional<uint32_t> slot) {
  if (!slot.has_value()) {
    return &state.knobs;
  }
  RETURN_IF_ERROR(CheckSlot(state, *slot));
  return &state.gpus[*slot].knobs;
}

// What the module holds in memory and a fresh one does not.
void ForgetVolatile(SimGpu& gpu) {
  std::fill_n(gpu.ecc.volatile_corrected, kEccLocations, 0);
  std::fill_n(gpu.ecc.volatile_uncorrected, kEccLocations, 0);
  gpu.ecc.mode = gpu.ecc.pending_mode;
  gpu.last_xid = 0;
  gpu.throttle_reasons = 0;
  std::fill(std::begin(gpu.processes), std::end(gpu.processes), SimProcess{});
}

void HealGpu(SimGpu& gpu) {
  gpu.is_lost = 0;
  gpu.reset_required = 0;
  gpu.last_xid = 0;
  gpu.throttle_reasons = 0;
  gpu.remap.is_pending = 0;
  gpu.retired_pages_pending = 0;
  gpu.ecc.mode = gpu.ecc.pending_mode;
  std::fill_n(gpu.ecc.volatile_corrected, kEccLocations, 0);
  std::fill_n(gpu.ecc.volatile_uncorrected, kEccLocations, 0);
  std::fill(std::begin(gpu.knobs), std::end(gpu.knobs), SimKnob{});
  for (SimNvLink& link : gpu.nvlinks) {
    link.is_active = link.exists;
  }
  if (gpu.temperature.gpu >= gpu.temperature.slowdown) {
    gpu.temperature.gpu = std::min<uint32_t>(40, gpu.temperature.slowdown);
  }
  ApplyPendingMigMode(gpu);
}

bool HasComputeInstance(const SimGpu& gpu, const SimProcess& process) {
  if (process.gpu_instance == kUnsupported) {
    return true;
  }
  if (process.gpu_instance >= kMaxGpuInstances ||
      process.compute_instance >= kMaxComputeInstances) {
    return false;
  }
  const SimGpuInstance& instance = gpu.mig.instances[process.gpu_instance];
  return instance.exists != 0 && instance.compute_instances[process.compute_instance].exists != 0;
}

}  // namespace

std::unique_ptr<SimState> NewState() {
  auto state = std::make_unique<SimState>();
  state->magic = kStateMagic;
  state->layout = kStateLayout;
  state->size = sizeof(SimState);
  state->driver.is_loaded = 1;
  state->driver.cuda_version = 12020;
  state->driver.nvidia_major = 195;
  state->driver.uvm_major = 510;
  state->driver.caps_major = 511;
  return state;
}

std::vector<uint32_t> PresentGpus(const SimState& state) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < std::min(state.gpu_count, kMaxGpus); ++slot) {
    if (state.gpus[slot].is_present != 0) {
      slots.push_back(slot);
    }
  }
  std::ranges::sort(slots, {}, [&](uint32_t slot) { return PciKey(state.gpus[slot].pci); });
  return slots;
}

StatusOr<uint32_t> FindGpu(const SimState& state, std::string_view who) {
  const std::vector<uint32_t> slots = PresentGpus(state);
  if (const auto index = ParseUint(who)) {
    if (*index < slots.size()) {
      return slots[*index];
    }
    return NotFound("GPU {}: there are {} GPUs, counted from 0", *index, slots.size());
  }
  for (const uint32_t slot : slots) {
    const SimGpu& gpu = state.gpus[slot];
    if (who == gpu.uuid || ToLower(who) == PciText(gpu.pci)) {
      return slot;
    }
  }
  if (who.starts_with("GPU-") || who.find(':') != std::string_view::npos) {
    return NotFound("GPU {}: not on this host", Printable(who));
  }
  return InvalidArgument("GPU \"{}\": must be an index, a UUID \"GPU-…\" or a PCI address",
                         Printable(who));
}

Status SetText(char* field_bytes, size_t size, std::string_view field, std::string_view text) {
  if (text.size() >= size || text.find('\0') != std::string_view::npos) {
    return InvalidArgument("{}: \"{}\" must be shorter than {} bytes, without zero bytes", field,
                           Printable(text, 40), size);
  }
  std::memset(field_bytes, 0, size);
  std::memcpy(field_bytes, text.data(), text.size());
  return OkStatus();
}

void PushEvent(SimState& state, const SimEvent& event) {
  SimEvent& place = state.events[state.event_count % kMaxEvents];
  place = event;
  place.sequence = ++state.event_count;
}

Status InjectXid(SimState& state, uint32_t slot, uint32_t xid, XidTarget target) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  if (xid < 1 || xid > 999) {
    return InvalidArgument("XID: {} must be 1 to 999", xid);
  }
  SimEvent event = EventOf(slot, nvml::kEventXidCritical, xid);
  event.gpu_instance = target.gpu_instance;
  event.compute_instance = target.compute_instance;
  PushEvent(state, event);
  state.gpus[slot].last_xid = xid;
  return OkStatus();
}

Status SetEcc(SimState& state, uint32_t slot, EccKind kind, uint32_t location, uint64_t count) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (location >= kEccLocations) {
    return InvalidArgument("location: {} must be 0 to {} (2 is device memory)", location,
                           kEccLocations - 1);
  }
  if (gpu.ecc.is_capable == 0 || gpu.ecc.mode == 0) {
    return FailedPrecondition("ECC of GPU {} is off: no errors can be counted", gpu.uuid);
  }
  const bool is_corrected = kind == EccKind::kCorrected;
  (is_corrected ? gpu.ecc.volatile_corrected : gpu.ecc.volatile_uncorrected)[location] += count;
  (is_corrected ? gpu.ecc.aggregate_corrected : gpu.ecc.aggregate_uncorrected)[location] += count;
  if (!is_corrected && location == kLocationDeviceMemory && count > 0) {
    if (gpu.remap.is_capable != 0) {
      gpu.remap.uncorrected += static_cast<uint32_t>(count);
      gpu.remap.is_pending = 1;
    } else if (gpu.retirement_is_capable != 0) {
      gpu.retired_pages_pending = 1;
    }
  }
  PushEvent(state, EventOf(slot, is_corrected ? nvml::kEventSingleBitEcc : nvml::kEventDoubleBitEcc,
                           count));
  return OkStatus();
}

Status Lose(SimState& state, uint32_t slot) {
  RETURN_IF_ERROR(InjectXid(state, slot, kXidFallenOffBus));
  state.gpus[slot].is_lost = 1;
  return OkStatus();
}

Status Hang(SimState& state, std::optional<uint32_t> slot, std::string_view function) {
  ASSIGN_OR_RETURN(auto* knobs, KnobsOf(state, slot));
  return SetKnob(*knobs, function, 1, 0);
}

Status Slow(SimState& state, std::optional<uint32_t> slot, uint64_t nanoseconds,
            std::string_view function) {
  if (nanoseconds > kHourNs) {
    return InvalidArgument("delay: {} ns must be an hour at most", nanoseconds);
  }
  ASSIGN_OR_RETURN(auto* knobs, KnobsOf(state, slot));
  return SetKnob(*knobs, function, 0, nanoseconds);
}

Status Unload(SimState& state) {
  if (state.driver.is_loaded == 0) {
    return FailedPrecondition("the driver is unloaded already");
  }
  state.driver.is_loaded = 0;
  for (const uint32_t slot : PresentGpus(state)) {
    SimGpu& gpu = state.gpus[slot];
    ForgetVolatile(gpu);
    if (gpu.mig.is_capable != 0 && gpu.mig.needs_reset == 0) {
      // From Hopper on the mode lives in the module only; Ampere keeps it in its InfoROM.
      gpu.mig.mode = gpu.mig.pending_mode = 0;
    }
    for (SimGpuInstance& instance : gpu.mig.instances) {
      instance = SimGpuInstance{};
    }
    ApplyPendingMigMode(gpu);
  }
  return OkStatus();
}

Status Load(SimState& state, std::string_view version, uint32_t cuda) {
  if (state.driver.is_loaded != 0) {
    return FailedPrecondition("driver {} is loaded: unload it first", state.driver.version);
  }
  if (!version.empty()) {
    RETURN_IF_ERROR(
        SetText(state.driver.version, sizeof(state.driver.version), "version", version));
  }
  if (cuda != 0) {
    state.driver.cuda_version = cuda;
  }
  state.driver.is_loaded = 1;
  return OkStatus();
}

StatusOr<uint32_t> AddGpu(SimState& state, const SimGpu& gpu) {
  for (const uint32_t slot : PresentGpus(state)) {
    const SimGpu& other = state.gpus[slot];
    if (std::string_view(other.uuid) == gpu.uuid || other.minor == gpu.minor ||
        PciKey(other.pci) == PciKey(gpu.pci)) {
      return AlreadyExists("GPU {} has the UUID, minor or PCI address of the new one", other.uuid);
    }
  }
  uint32_t slot = 0;
  while (slot < state.gpu_count && state.gpus[slot].is_present != 0) {
    ++slot;
  }
  if (slot == kMaxGpus) {
    return ResourceExhausted("{} GPUs are all a simulated host can hold", kMaxGpus);
  }
  const uint32_t incarnation = state.gpus[slot].incarnation + 1;
  state.gpus[slot] = gpu;
  state.gpus[slot].is_present = 1;
  state.gpus[slot].incarnation = incarnation;
  state.gpu_count = std::max(state.gpu_count, slot + 1);
  for (uint32_t other = 0; other < state.gpu_count; ++other) {
    state.gpus[other].topology[slot] = other == slot ? 0 : gpu.topology[other];
  }
  return slot;
}

StatusOr<uint32_t> CloneGpu(SimState& state, uint32_t slot) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  const auto copy = std::make_unique<SimGpu>(state.gpus[slot]);
  SimGpu& gpu = *copy;
  uint32_t bus = 0;
  for (const uint32_t other : PresentGpus(state)) {
    gpu.minor = std::max(gpu.minor, state.gpus[other].minor);
    bus = std::max(bus, state.gpus[other].pci.bus);
  }
  ++gpu.minor;
  if (bus >= 0xff) {
    return ResourceExhausted("PCI bus ff is taken: no bus is left for another GPU");
  }
  gpu.pci.bus = bus + 1;
  ForgetVolatile(gpu);
  HealGpu(gpu);
  for (SimGpuInstance& instance : gpu.mig.instances) {
    instance = SimGpuInstance{};
  }
  // The last group of the UUID counts on; the incarnation keeps a second clone of a slot apart.
  std::string uuid = gpu.uuid;
  uuid.resize(std::max<size_t>(uuid.size(), 12));
  uuid.replace(uuid.size() - 12, 12, fmt::format("{:04x}{:08x}", bus + 1, state.version + 1));
  RETURN_IF_ERROR(SetText(gpu.uuid, sizeof(gpu.uuid), "uuid", uuid));
  RETURN_IF_ERROR(SetText(gpu.serial, sizeof(gpu.serial), "serial",
                          fmt::format("1{:012d}", 650000000000 + (state.version + 1) * 256 + bus)));
  for (uint8_t& level : gpu.topology) {
    level = nvml::kTopologySystem;
  }
  gpu.nvlink_count = 0;
  std::fill(std::begin(gpu.nvlinks), std::end(gpu.nvlinks), SimNvLink{});
  return AddGpu(state, gpu);
}

Status RemoveGpu(SimState& state, uint32_t slot) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  state.gpus[slot].is_present = 0;
  return OkStatus();
}

Status AddProcess(SimState& state, uint32_t slot, const SimProcess& process) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (process.pid == 0) {
    return InvalidArgument("pid: 0 is no process");
  }
  if (!HasComputeInstance(gpu, process)) {
    return NotFound("GPU instance {} with compute instance {} is not on GPU {}",
                    process.gpu_instance, process.compute_instance, gpu.uuid);
  }
  SimProcess* place = nullptr;
  uint64_t used = gpu.memory_used + gpu.memory_reserved;
  for (SimProcess& other : gpu.processes) {
    const bool is_same = other.pid == process.pid && other.kind == process.kind;
    if (is_same || (other.pid == 0 && place == nullptr)) {
      place = &other;
    }
    used += is_same ? 0 : other.used_bytes;
  }
  if (place == nullptr) {
    return ResourceExhausted("{} processes on one GPU are the most", kMaxProcesses);
  }
  if (used > gpu.memory_total || process.used_bytes > gpu.memory_total - used) {
    return ResourceExhausted("memory: {} MiB are more than the {} MiB that GPU {} has left",
                             process.used_bytes >> 20, (gpu.memory_total - used) >> 20, gpu.uuid);
  }
  *place = process;
  return OkStatus();
}

Status RemoveProcess(SimState& state, uint32_t slot, uint32_t pid) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  bool is_found = false;
  for (SimProcess& process : state.gpus[slot].processes) {
    if (pid != 0 && process.pid == pid) {
      process = SimProcess{};
      is_found = true;
    }
  }
  return is_found ? OkStatus()
                  : NotFound("pid: {} does not use GPU {}", pid, state.gpus[slot].uuid);
}

Status SetUtil(SimState& state, uint32_t slot, uint32_t gpu, uint32_t memory) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  if (gpu > 100 || memory > 100) {
    return InvalidArgument("utilisation: {} and {} must be 0 to 100 percent", gpu, memory);
  }
  state.gpus[slot].utilization.gpu = gpu;
  state.gpus[slot].utilization.memory = memory;
  return OkStatus();
}

Status SetTemp(SimState& state, uint32_t slot, uint32_t celsius) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (celsius > 150) {
    return InvalidArgument("temperature: {} must be 0 to 150 degrees Celsius", celsius);
  }
  gpu.temperature.gpu = celsius;
  if (gpu.temperature.memory != kUnsupported) {
    gpu.temperature.memory = celsius;
  }
  const bool is_hot = celsius >= gpu.temperature.slowdown;
  const uint64_t reasons = is_hot ? gpu.throttle_reasons | kReasonHwThermalSlowdown
                                  : gpu.throttle_reasons & ~kReasonHwThermalSlowdown;
  if (reasons != gpu.throttle_reasons) {
    RETURN_IF_ERROR(Throttle(state, slot, reasons));
  }
  return celsius >= gpu.temperature.shutdown ? Lose(state, slot) : OkStatus();
}

Status Throttle(SimState& state, uint32_t slot, uint64_t reasons) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  state.gpus[slot].throttle_reasons = reasons;
  PushEvent(state, EventOf(slot, nvml::kEventClock, 0));
  return OkStatus();
}

Status NvLinkDown(SimState& state, uint32_t slot, uint32_t link) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (link >= kMaxNvLinks || gpu.nvlinks[link].exists == 0) {
    return NotFound("NVLink {}: GPU {} has {} links, counted from 0", link, gpu.uuid,
                    gpu.nvlink_count);
  }
  SimNvLink& near_end = gpu.nvlinks[link];
  near_end.is_active = 0;
  ++near_end.errors[1];
  for (const uint32_t other : PresentGpus(state)) {
    SimGpu& peer = state.gpus[other];
    if (near_end.remote_type == kRemoteGpu && PciKey(peer.pci) == PciKey(near_end.remote) &&
        near_end.remote_link < kMaxNvLinks) {
      peer.nvlinks[near_end.remote_link].is_active = 0;
    }
  }
  return OkStatus();
}

Status SetField(SimState& state, uint32_t slot, std::string_view field, uint64_t value) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  for (const Field& known : kFields) {
    if (known.name != field) {
      continue;
    }
    if (value > known.limit) {
      return InvalidArgument("{}: {} must be {} at most", field, value, known.limit);
    }
    known.set(state.gpus[slot], value);
    return OkStatus();
  }
  const auto nearest = Nearest(field, FieldNames());
  return InvalidArgument("field \"{}\" is not known{}", Printable(field),
                         nearest ? fmt::format("; did you mean {}?", *nearest)
                                 : ": one of " + std::string(kFields[0].name) + ", …");
}

std::vector<std::string_view> FieldNames() {
  std::vector<std::string_view> names;
  for (const Field& field : kFields) {
    names.push_back(field.name);
  }
  return names;
}

Status Heal(SimState& state, std::optional<uint32_t> slot) {
  if (slot.has_value()) {
    RETURN_IF_ERROR(CheckSlot(state, *slot));
    HealGpu(state.gpus[*slot]);
    return OkStatus();
  }
  for (const uint32_t present : PresentGpus(state)) {
    HealGpu(state.gpus[present]);
  }
  std::fill(std::begin(state.knobs), std::end(state.knobs), SimKnob{});
  return OkStatus();
}

}  // namespace kgpu::sim
