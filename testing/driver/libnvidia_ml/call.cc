#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {
namespace {

constexpr uint64_t kStepNs = 2'000'000;  // how soon a heal is seen

struct Delay {
  bool hangs = false;
  uint64_t slow_ns = 0;
  uint32_t refusal = 0;
};

bool Concerns(const SimKnob& knob, const char* name) {
  return knob.is_set != 0 &&
         (knob.function[0] == '\0' || strncmp(knob.function, name, sizeof(knob.function)) == 0);
}

void Add(const SimKnob& knob, const char* name, Delay& delay) {
  if (!Concerns(knob, name)) {
    return;
  }
  delay.refusal = knob.refusal != 0 ? knob.refusal : delay.refusal;
  delay.hangs = delay.hangs || knob.hang != 0;
  delay.slow_ns += knob.slow_ns;
}

Delay CurrentDelay(const Session& session, const char* name, uint32_t slot) {
  Delay delay;
  ReadState(*session.shared.state, [&](const SimState& state) {
    delay = {};
    for (uint32_t i = 0; i < kMaxKnobs; ++i) {
      Add(state.knobs[i], name, delay);
      if (slot != kNoSlot) {
        Add(state.gpus[slot].knobs[i], name, delay);
      }
    }
    return nvml::kSuccess;
  });
  return delay;
}

uint64_t MonotonicNs() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Sleep(uint64_t ns) {
  timespec pause{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  (void)nanosleep(&pause, nullptr);
}

}  // namespace

Return ObeyKnobs(const Session& session, const char* name, uint32_t slot) {
  Delay delay = CurrentDelay(session, name, slot);
  if (!delay.hangs && delay.slow_ns == 0) {
    return static_cast<Return>(delay.refusal);
  }
  uint64_t start = MonotonicNs();
  for (;;) {
    uint64_t passed = MonotonicNs() - start;
    if (!delay.hangs && passed >= delay.slow_ns) {
      return static_cast<Return>(delay.refusal);
    }
    uint64_t left = delay.hangs ? kStepNs : delay.slow_ns - passed;
    Sleep(left < kStepNs ? left : kStepNs);
    delay = CurrentDelay(session, name, slot);
  }
}

Return RefusalOf(const SimGpu& gpu, const char* name) {
  Delay delay;
  for (const SimKnob& knob : gpu.knobs) {
    Add(knob, name, delay);
  }
  return static_cast<Return>(delay.refusal);
}

Return CheckDriver(const Session& session, const SimState& state) {
  if (state.driver.is_loaded == 0) {
    return nvml::kErrorUnknown;
  }
  return strncmp(session.version, state.driver.version, sizeof(session.version)) == 0
             ? nvml::kSuccess
             : nvml::kErrorLibRmVersionMismatch;
}

Return CheckGpu(const Session& session, const SimState& state, uint32_t slot) {
  Return result = CheckDriver(session, state);
  if (result != nvml::kSuccess) {
    return result;
  }
  uint32_t index = IndexOfSlot(session, slot);
  if (index == kNoSlot) {
    return nvml::kErrorInvalidArgument;
  }
  const SimGpu& gpu = state.gpus[slot];
  if (gpu.is_present == 0 || gpu.is_lost != 0 ||
      gpu.incarnation != session.gpus[index].incarnation) {
    return nvml::kErrorGpuIsLost;
  }
  return session.gpus[index].is_permitted ? nvml::kSuccess : nvml::kErrorNoPermission;
}

const SimGpuInstance* FindGpuInstance(const SimGpu& gpu, uint32_t id) {
  bool exists = gpu.mig.is_capable != 0 && gpu.mig.mode != 0 && id < kMaxGpuInstances &&
                gpu.mig.instances[id].exists != 0;
  return exists ? &gpu.mig.instances[id] : nullptr;
}

const SimComputeInstance* FindComputeInstance(const SimGpu& gpu, uint32_t gpu_instance,
                                              uint32_t id) {
  const SimGpuInstance* parent = FindGpuInstance(gpu, gpu_instance);
  bool exists =
      parent != nullptr && id < kMaxComputeInstances && parent->compute_instances[id].exists != 0;
  return exists ? &parent->compute_instances[id] : nullptr;
}

uint32_t IndexOfSlot(const Session& session, uint32_t slot) {
  for (uint32_t i = 0; i < session.gpu_count; ++i) {
    if (session.gpus[i].slot == slot) {
      return i;
    }
  }
  return kNoSlot;
}

uint64_t NowUs() {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

uint64_t NowBootNs() {
  timespec now{};
  (void)clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Return CheckHandle(Device device, Target& target) {
  SessionRef session;
  if (!session) {
    return nvml::kErrorUninitialized;
  }
  return Decode(device, target) ? nvml::kSuccess : nvml::kErrorInvalidArgument;
}

Return PutText(const char* text, size_t field_size, char* out, uint32_t length) {
  size_t size = strnlen(text, field_size);
  if (size == 0) {
    return nvml::kErrorNotSupported;
  }
  if (size + 1 > length) {
    return nvml::kErrorInsufficientSize;
  }
  memcpy(out, text, size);
  out[size] = '\0';
  return nvml::kSuccess;
}

}  // namespace kgpu::sim
