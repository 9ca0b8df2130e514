#include "testing/driver/gpus.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/counters.h"

namespace kgpu::sim {

namespace {

auto PciKey(const SimPci& pci) {
  return std::make_tuple(pci.domain, pci.bus, pci.device, pci.function);
}

std::string PciText(const SimPci& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

}  // namespace

Status CheckSlot(const SimState& state, uint32_t slot) {
  if (slot >= state.gpu_count || state.gpus[slot].is_present == 0) {
    return NotFound("slot {}: no GPU there; list the GPUs with `kgpu sim status`", slot);
  }
  return OkStatus();
}

bool IsSamePlace(const SimPci& a, const SimPci& b) {
  return PciKey(a) == PciKey(b);
}

void ForgetVolatile(SimGpu& gpu) {
  std::fill_n(gpu.ecc.volatile_corrected, kEccLocations, 0);
  std::fill_n(gpu.ecc.volatile_uncorrected, kEccLocations, 0);
  gpu.ecc.mode = gpu.ecc.pending_mode;
  gpu.last_xid = 0;
  gpu.throttle_reasons = 0;
  ForgetCounters(gpu);
  std::fill(std::begin(gpu.processes), std::end(gpu.processes), SimProcess{});
}

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
  // Not memcpy: the data of an empty view may be null.
  std::ranges::copy(text, field_bytes);
  return OkStatus();
}

StatusOr<uint32_t> AddGpu(SimState& state, const SimGpu& gpu) {
  for (const uint32_t slot : PresentGpus(state)) {
    const SimGpu& other = state.gpus[slot];
    if (std::string_view(other.uuid) == gpu.uuid || other.minor == gpu.minor ||
        IsSamePlace(other.pci, gpu.pci)) {
      return AlreadyExists("GPU {} already has the UUID, minor or PCI address of the new one",
                           other.uuid);
    }
  }
  uint32_t slot = 0;
  while (slot < state.gpu_count && state.gpus[slot].is_present != 0) {
    ++slot;
  }
  if (slot == kMaxGpus) {
    return ResourceExhausted("a simulated host can have at most {} GPUs", kMaxGpus);
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
  uint32_t bus = state.driver.highest_bus;
  for (const uint32_t other : PresentGpus(state)) {
    gpu.minor = std::max(gpu.minor, state.gpus[other].minor);
    bus = std::max(bus, state.gpus[other].pci.bus);
  }
  ++gpu.minor;
  if (bus >= 0xff) {
    return ResourceExhausted("all PCI buses up to ff are in use: no bus is left for another GPU");
  }
  gpu.pci.bus = bus + 1;
  ForgetVolatile(gpu);
  gpu.is_lost = 0;
  gpu.reset_required = 0;
  gpu.is_unlisted = 0;
  std::fill(std::begin(gpu.knobs), std::end(gpu.knobs), SimKnob{});
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

}  // namespace kgpu::sim
