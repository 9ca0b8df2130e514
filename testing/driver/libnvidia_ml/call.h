// The steps of every exported function: session, arguments, handle, knobs, driver, lost GPU; then a
// read of the state under the seqlock.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "testing/driver/libnvidia_ml/handles.h"
#include "testing/driver/libnvidia_ml/seqlock.h"
#include "testing/driver/libnvidia_ml/session.h"

// An exported function of NVML.
#define KGPU_NVML extern "C" __attribute__((visibility("default"))) kgpu::nvml::Return
// The same function under another name.
#define KGPU_NVML_ALIAS(of) __attribute__((alias(#of)))

namespace kgpu::sim {

using nvml::Device;
using nvml::Return;

inline constexpr uint32_t kNoSlot = kUnsupported;

// Delays the call as the knobs say, or waits until they are healed; returns the call's result if it
// is refused, else success. `name` is the function's without version suffix. Cost without knobs:
// one pass over eight words.
Return ObeyKnobs(const Session& session, const char* name, uint32_t slot);

// Whether the driver for which this session was opened still answers. Call within ReadState.
Return CheckDriver(const Session& session, const SimState& state);
// The same for a GPU: present as nvmlInit found it, permitted, on the bus.
Return CheckGpu(const Session& session, const SimState& state, uint32_t slot);
// The result of a call on the GPU that its knobs refuse, else success. Call within ReadState.
Return RefusalOf(const SimGpu& gpu, const char* name);

// The compute instance behind a MIG handle, or null if it is gone (or never existed).
const SimGpuInstance* FindGpuInstance(const SimGpu& gpu, uint32_t id);
const SimComputeInstance* FindComputeInstance(const SimGpu& gpu, uint32_t gpu_instance,
                                              uint32_t id);

// NVML's index of the GPU in `slot`, or kNoSlot.
uint32_t IndexOfSlot(const Session& session, uint32_t slot);

uint64_t NowUs();      // since 1970
uint64_t NowBootNs();  // CLOCK_BOOTTIME

// Whether limits of temperature are reported as T.Limit: from Ada on.
inline bool ReportsTLimits(const SimGpu& gpu) {
  return gpu.architecture >= nvml::kArchAda && gpu.architecture != nvml::kArchUnknown &&
         gpu.temperature.gpu_max != kUnsupported;
}

// A function without a GPU: `read` is called with the session and the state.
template <typename Read>
Return SystemCall(const char* name, bool has_arguments, Read&& read) {
  SessionRef session;
  if (!session) {
    return nvml::kErrorUninitialized;
  }
  if (!has_arguments) {
    return nvml::kErrorInvalidArgument;
  }
  Return refusal = ObeyKnobs(*session, name, kNoSlot);
  if (refusal != nvml::kSuccess) {
    return refusal;
  }
  return ReadState(*session->shared.state, [&](const SimState& state) {
    Return result = CheckDriver(*session, state);
    return result != nvml::kSuccess ? result : read(*session, state);
  });
}

// A function for any instance of a GPU: `read` gets the session, the state and the slot.
template <typename Read>
Return SlotCall(const char* name, uint32_t slot, Read&& read) {
  SessionRef session;
  if (!session) {
    return nvml::kErrorUninitialized;
  }
  if (IndexOfSlot(*session, slot) == kNoSlot) {
    return nvml::kErrorInvalidArgument;
  }
  Return refusal = ObeyKnobs(*session, name, slot);
  if (refusal != nvml::kSuccess) {
    return refusal;
  }
  return ReadState(*session->shared.state, [&](const SimState& state) {
    Return result = CheckGpu(*session, state, slot);
    return result != nvml::kSuccess ? result : read(*session, state);
  });
}

// Whether the library is initialised and created the handle.
Return CheckHandle(Device device, Target& target);
// The checks before a handle is used. In the header, so that analysers see what success means.
inline Return CheckArguments(bool has_arguments, Device device, Target& target) {
  Return result = CheckHandle(device, target);
  return has_arguments || result == nvml::kErrorUninitialized ? result
                                                              : nvml::kErrorInvalidArgument;
}

// A function for a GPU or a MIG device: `read` gets the GPU and the handle's target.
template <typename Read>
Return DeviceCall(const char* name, Device device, bool has_arguments, Read&& read) {
  Target target;
  Return checked = CheckArguments(has_arguments, device, target);
  if (checked != nvml::kSuccess) {
    return checked;
  }
  return SlotCall(name, target.slot, [&](const Session&, const SimState& state) {
    const SimGpu& gpu = state.gpus[target.slot];
    if (target.is_mig &&
        FindComputeInstance(gpu, target.gpu_instance, target.compute_instance) == nullptr) {
      return nvml::kErrorInvalidArgument;
    }
    return read(gpu, target);
  });
}

// A function only for whole GPUs; a MIG device is NVML_ERROR_NOT_SUPPORTED.
template <typename Read>
Return GpuCall(const char* name, Device device, bool has_arguments, Read&& read) {
  return DeviceCall(name, device, has_arguments, [&](const SimGpu& gpu, const Target& target) {
    return target.is_mig ? nvml::kErrorNotSupported : read(gpu);
  });
}

// Writes a value that the model may lack.
inline Return Put(uint32_t value, uint32_t* out) {
  if (value == kUnsupported) {
    return nvml::kErrorNotSupported;
  }
  *out = value;
  return nvml::kSuccess;
}
inline Return Put(uint64_t value, uint64_t* out) {
  if (value == kUnsupported64) {
    return nvml::kErrorNotSupported;
  }
  *out = value;
  return nvml::kSuccess;
}

// Writes a text that the model may lack (empty: NVML_ERROR_NOT_SUPPORTED).
Return PutText(const char* text, size_t field_size, char* out, uint32_t length);
template <size_t kSize>
Return PutText(const char (&text)[kSize], char* out, uint32_t length) {
  return PutText(text, kSize, out, length);
}

// The complete body of many getters: `get` returns one field of the GPU.
template <typename Out, typename Get>
Return GetValue(const char* name, Device device, Out* out, Get&& get) {
  return GpuCall(name, device, out != nullptr,
                 [&](const SimGpu& gpu) { return Put(get(gpu), out); });
}
template <typename Get>
Return GetText(const char* name, Device device, char* out, uint32_t length, Get&& get) {
  return GpuCall(name, device, out != nullptr,
                 [&](const SimGpu& gpu) { return PutText(get(gpu), out, length); });
}
// A switch of the GPU, as nvmlEnableState_t.
template <typename Get>
Return GetSwitch(const char* name, Device device, nvml::EnableState* out, Get&& get) {
  return GpuCall(name, device, out != nullptr, [&](const SimGpu& gpu) {
    uint32_t value = get(gpu);
    if (value == kUnsupported) {
      return nvml::kErrorNotSupported;
    }
    *out = value != 0 ? nvml::kFeatureEnabled : nvml::kFeatureDisabled;
    return nvml::kSuccess;
  });
}

// Lists as NVML returns them: `count` has the capacity of `items` and gets their number.
class ListWriter {
 public:
  ListWriter(uint32_t* count, bool has_items)
      : count_(count), capacity_(has_items && count != nullptr ? *count : 0), found_(0) {}
  // Starts over, for a read that is repeated.
  void Clear() { found_ = 0; }
  // The index for one more item, or -1 if there is no room.
  int64_t Next() { return found_++ < capacity_ ? int64_t{found_} - 1 : -1; }
  Return Finish() const {
    *count_ = found_;
    return found_ > capacity_ ? nvml::kErrorInsufficientSize : nvml::kSuccess;
  }

 private:
  uint32_t* count_;
  uint32_t capacity_;
  uint32_t found_;
};

}  // namespace kgpu::sim
