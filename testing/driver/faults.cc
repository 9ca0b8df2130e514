#include "testing/driver/faults.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/fields.h"
#include "testing/driver/mig.h"

namespace kgpu::sim {

namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000;
constexpr uint32_t kXidFallenOffBus = 79;
constexpr uint64_t kReasonHwThermalSlowdown = 0x40;
constexpr uint32_t kLocationDeviceMemory = 2;

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
Status SetKnob(SimKnob (&knobs)[kMaxKnobs], std::string_view function, SimKnob next) {
  const bool is_cuda = function.starts_with("cu");
  if (!function.empty() && !is_cuda && !function.starts_with("nvml")) {
    return InvalidArgument(
        "function: \"{}\" must be the name of an NVML or CUDA function, e.g. "
        "nvmlDeviceGetTemperature or cuLaunchKernel",
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
    return ResourceExhausted("{} functions are already slow, hanging or refused: run heal first",
                             kMaxKnobs);
  }
  RETURN_IF_ERROR(SetText(next.function, sizeof(next.function), "function", function));
  next.is_set = 1;
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

void HealGpu(SimState& state, uint32_t slot) {
  SimGpu& gpu = state.gpus[slot];
  gpu.is_lost = 0;
  gpu.reset_required = 0;
  gpu.recovery_action = 0;
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
  ApplyPendingMigMode(state, slot);
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
    return FailedPrecondition("ECC of GPU {} is disabled: no errors can be counted", gpu.uuid);
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
  SimKnob knob = {};
  knob.hang = 1;
  return SetKnob(*knobs, function, knob);
}

Status Slow(SimState& state, std::optional<uint32_t> slot, uint64_t nanoseconds,
            std::string_view function) {
  if (nanoseconds > kHourNs) {
    return InvalidArgument("delay: {} ns must be at most an hour", nanoseconds);
  }
  ASSIGN_OR_RETURN(auto* knobs, KnobsOf(state, slot));
  SimKnob knob = {};
  knob.slow_ns = nanoseconds;
  return SetKnob(*knobs, function, knob);
}

Status Refuse(SimState& state, std::optional<uint32_t> slot, uint32_t code,
              std::string_view function) {
  if (code < 1 || code > 999) {
    return InvalidArgument("code: {} must be an nvmlReturn_t of 1 to 999", code);
  }
  ASSIGN_OR_RETURN(auto* knobs, KnobsOf(state, slot));
  SimKnob knob = {};
  knob.refusal = code;
  return SetKnob(*knobs, function, knob);
}

Status Unload(SimState& state) {
  if (state.driver.is_loaded == 0) {
    return FailedPrecondition("the driver is already unloaded");
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
    ApplyPendingMigMode(state, slot);
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

Status AddProcess(SimState& state, uint32_t slot, const SimProcess& process) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  SimGpu& gpu = state.gpus[slot];
  if (process.pid == 0) {
    return InvalidArgument("pid: must not be 0");
  }
  if (!HasComputeInstance(gpu, process)) {
    return NotFound("GPU {2} has no GPU instance {0} with compute instance {1}",
                    process.gpu_instance, process.compute_instance, gpu.uuid);
  }
  SimProcess* place = nullptr;
  uint64_t used = gpu.memory_used + gpu.memory_reserved;
  for (SimProcess& other : gpu.processes) {
    const bool is_same =
        other.pid == process.pid && other.kind == process.kind && other.is_client == 0;
    if (is_same || (other.pid == 0 && place == nullptr)) {
      place = &other;
    }
    used += is_same ? 0 : other.used_bytes;
  }
  if (place == nullptr) {
    return ResourceExhausted("a GPU can have at most {} processes", kMaxProcesses);
  }
  if (used > gpu.memory_total || process.used_bytes > gpu.memory_total - used) {
    return ResourceExhausted("memory: {} MiB exceed the {} MiB left on GPU {}",
                             process.used_bytes >> 20, (gpu.memory_total - used) >> 20, gpu.uuid);
  }
  *place = process;
  return OkStatus();
}

Status SetProcessUtil(SimState& state, uint32_t slot, const SimProcess& load) {
  RETURN_IF_ERROR(CheckSlot(state, slot));
  const uint32_t most = std::max({load.sm_util, load.mem_util, load.enc_util, load.dec_util});
  if (most > 100) {
    return InvalidArgument("utilization: {} must be 0 to 100 percent", most);
  }
  bool is_found = false;
  for (SimProcess& process : state.gpus[slot].processes) {
    if (load.pid != 0 && process.pid == load.pid) {
      process.sm_util = load.sm_util;
      process.mem_util = load.mem_util;
      process.enc_util = load.enc_util;
      process.dec_util = load.dec_util;
      is_found = true;
    }
  }
  return is_found ? OkStatus()
                  : NotFound("pid: {} does not use GPU {}", load.pid, state.gpus[slot].uuid);
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
    return InvalidArgument("utilization: {} and {} must be 0 to 100 percent", gpu, memory);
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
    if (near_end.remote_type == kRemoteGpu && IsSamePlace(peer.pci, near_end.remote) &&
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
      return InvalidArgument("{}: {} must be at most {}", field, value, known.limit);
    }
    known.set(state.gpus[slot], value);
    return OkStatus();
  }
  const auto nearest = Nearest(field, FieldNames());
  return InvalidArgument("unknown field \"{}\"{}", Printable(field),
                         nearest ? fmt::format("; did you mean {}?", *nearest)
                                 : ": must be one of " + std::string(kFields[0].name) + ", …");
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
    HealGpu(state, *slot);
    return OkStatus();
  }
  for (const uint32_t present : PresentGpus(state)) {
    HealGpu(state, present);
  }
  std::fill(std::begin(state.knobs), std::end(state.knobs), SimKnob{});
  return OkStatus();
}

}  // namespace kgpu::sim
