#include "testing/driver/state_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::sim {

namespace {

constexpr size_t kHeaderSize = offsetof(SimState, gpus);

template <size_t N>
bool Ends(const char (&text)[N]) {
  return std::memchr(text, '\0', N) != nullptr;
}

bool KnobsEnd(const SimKnob (&knobs)[kMaxKnobs]) {
  for (const SimKnob& knob : knobs) {
    if (!Ends(knob.function)) {
      return false;
    }
  }
  return true;
}

// The name of the first field that is wrong, or "".
std::string_view WrongMigField(const SimMig& mig) {
  if (mig.profile_count > kMaxMigProfiles) {
    return "mig.profile_count";
  }
  for (const SimMigProfile& profile : mig.profiles) {
    if (profile.placement_count > kMaxPlacements || !Ends(profile.name)) {
      return "mig.profiles";
    }
  }
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const SimGpuInstance& instance = mig.instances[gi];
    if (instance.exists != 0 && instance.id != gi) {
      return "mig.instances";
    }
    for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
      const SimComputeInstance& compute = instance.compute_instances[ci];
      if ((compute.exists != 0 && compute.id != ci) || !Ends(compute.uuid)) {
        return "mig.instances.compute_instances";
      }
    }
  }
  return "";
}

std::string_view WrongGpuField(const SimGpu& gpu) {
  if (!Ends(gpu.uuid) || !Ends(gpu.name) || !Ends(gpu.serial) || !Ends(gpu.board_part_number) ||
      !Ends(gpu.vbios)) {
    return "uuid, name, serial, board_part_number or vbios";
  }
  if (!Ends(gpu.inforom_image) || !Ends(gpu.inforom_oem) || !Ends(gpu.inforom_ecc) ||
      !Ends(gpu.inforom_power) || !Ends(gpu.gsp_firmware)) {
    return "inforom or gsp_firmware";
  }
  if (gpu.is_present != 0 && gpu.minor > 255) {
    return "minor";
  }
  if (gpu.retired_page_count > kMaxRetiredPages || gpu.nvlink_count > kMaxNvLinks) {
    return "retired_page_count or nvlink_count";
  }
  if (!KnobsEnd(gpu.knobs)) {
    return "knobs";
  }
  for (const SimProcess& process : gpu.processes) {
    if (!Ends(process.name)) {
      return "processes";
    }
  }
  return WrongMigField(gpu.mig);
}

}  // namespace

Status ValidateState(const SimState& state) {
  if (state.magic != kStateMagic) {
    return InvalidArgument("not a state of the simulated driver");
  }
  if (state.layout != kStateLayout || state.size != sizeof(SimState)) {
    return InvalidArgument(
        "state of layout {} ({} bytes): this program has layout {} ({} bytes); recreate the host",
        state.layout, state.size, kStateLayout, sizeof(SimState));
  }
  if (state.gpu_count > kMaxGpus) {
    return InvalidArgument("gpu_count: {} must be at most {}", state.gpu_count, kMaxGpus);
  }
  if (!Ends(state.driver.version) || !Ends(state.driver.library_version) || !Ends(state.profile) ||
      !KnobsEnd(state.knobs)) {
    return InvalidArgument(
        "driver.version, driver.library_version, profile or knobs: unterminated text");
  }
  for (uint32_t slot = 0; slot < state.gpu_count; ++slot) {
    if (const std::string_view field = WrongGpuField(state.gpus[slot]); !field.empty()) {
      return InvalidArgument("gpus[{}].{}: out of bounds", slot, field);
    }
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<SimState>> ParseState(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || bytes.size() > sizeof(SimState)) {
    return InvalidArgument("a state has {} to {} bytes, not {}", kHeaderSize, sizeof(SimState),
                           bytes.size());
  }
  auto state = std::make_unique<SimState>();
  std::memcpy(state.get(), bytes.data(), bytes.size());
  RETURN_IF_ERROR(ValidateState(*state));
  if (bytes.size() != kHeaderSize + state->gpu_count * sizeof(SimGpu)) {
    return InvalidArgument("{} bytes cannot hold {} GPUs: the file is truncated or too long",
                           bytes.size(), state->gpu_count);
  }
  state->sequence = 0;
  return state;
}

std::string_view StateBytes(const SimState& state) {
  return {reinterpret_cast<const char*>(&state), kHeaderSize + state.gpu_count * sizeof(SimGpu)};
}

StatusOr<std::unique_ptr<SimState>> LoadState(const std::string& root) {
  ASSIGN_OR_RETURN(const sys::Root opened, sys::Root::Open(root));
  ASSIGN_OR_RETURN(const std::string bytes, opened.ReadFile(kStateFile, sizeof(SimState)));
  auto state = ParseState(bytes);
  if (!state.ok()) {
    return Annotate(state.status(), "{}", opened.At(kStateFile));
  }
  return state;
}

Status SaveState(const std::string& root, const SimState& state) {
  const std::string path = root + "/" + kStateFile;
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "mkdir " + folder);
  }
  // Each command waits for this one: not for a disk. A power cut ends the simulated host too.
  return sys::WriteFileAtomically(path, StateBytes(state), 0600, sys::Durability::kMemory);
}

}  // namespace kgpu::sim
