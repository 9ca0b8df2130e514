#include "testing/cuda/library.h"

#include <pthread.h>

namespace kgpu::simcuda {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit Library library{};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t key_once = PTHREAD_ONCE_INIT;
pthread_key_t current_key;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// Not thread_local: that would need a symbol of the dynamic loader, which the real library's list
// of needed files has, but which no other part of this one uses.
void MakeKey() {
  (void)pthread_key_create(&current_key, nullptr);
}

uint64_t Uncorrected(const sim::SimGpu& gpu) {
  uint64_t sum = 0;
  for (const uint64_t count : gpu.ecc.volatile_uncorrected) {
    sum += count;
  }
  return sum;
}

// Faults of the GPU that end every context on it.
Result CheckFaults(const ContextObject& context) {
  bool is_gone = false;
  uint64_t errors = 0;
  const Result read = ReadGpu(context.device, [&](const sim::SimGpu& gpu) {
    errors = Uncorrected(gpu);
    is_gone = context.device.is_mig && InstanceOf(gpu, context.device) == nullptr;
  });
  if (read != cuda_api::kSuccess || context.failure != cuda_api::kSuccess) {
    return read != cuda_api::kSuccess ? read : context.failure;
  }
  if (is_gone) {
    return cuda_api::kUnknown;
  }
  return errors > context.ecc_at_start ? cuda_api::kEccUncorrectable : cuda_api::kSuccess;
}

Result EnterSlot(const char* name, uint32_t slot) {
  const sim::SessionRef session;
  if (!session) {
    return cuda_api::kNotInitialized;
  }
  sim::ObeyKnobs(*session, name, slot);
  return ResultOf(sim::ReadState(*session->shared.state, [&](const sim::SimState& state) {
    return slot == sim::kNoSlot ? sim::CheckDriver(*session, state)
                                : sim::CheckGpu(*session, state, slot);
  }));
}

}  // namespace

Library& State() {
  return library;
}

Lock::Lock() {
  pthread_mutex_lock(&mutex);
}
Lock::~Lock() {
  pthread_mutex_unlock(&mutex);
}

ContextObject* CurrentContext() {
  pthread_once(&key_once, &MakeKey);
  return static_cast<ContextObject*>(pthread_getspecific(current_key));
}

void SetCurrentContext(ContextObject* context) {
  pthread_once(&key_once, &MakeKey);
  (void)pthread_setspecific(current_key, context);
}

Result ResultOf(nvml::Return result) {
  switch (result) {
    case nvml::kSuccess:
      return cuda_api::kSuccess;
    case nvml::kErrorUninitialized:
      return cuda_api::kNotInitialized;
    case nvml::kErrorDriverNotLoaded:
    case nvml::kErrorNoPermission:
      return cuda_api::kNoDevice;
    case nvml::kErrorInvalidArgument:
      return cuda_api::kInvalidDevice;
    case nvml::kErrorMemory:
      return cuda_api::kOutOfMemory;
    case nvml::kErrorLibRmVersionMismatch:
      return cuda_api::kDriverMismatch;
    default:
      return cuda_api::kUnknown;
  }
}

Result EnterSystem(const char* name) {
  return EnterSlot(name, sim::kNoSlot);
}

Result EnterDevice(const char* name, cuda_api::Device ordinal, VisibleDevice* device) {
  const Library& state = State();
  if (!state.is_ready) {
    return cuda_api::kNotInitialized;
  }
  if (ordinal < 0 || static_cast<uint32_t>(ordinal) >= state.device_count) {
    return cuda_api::kInvalidDevice;
  }
  *device = state.devices[ordinal];
  return EnterSlot(name, device->slot);
}

Result EnterContext(const char* name, ContextObject** context) {
  if (!State().is_ready) {
    return cuda_api::kNotInitialized;
  }
  *context = CurrentContext();
  if (*context == nullptr) {
    return cuda_api::kInvalidContext;
  }
  const Result result = EnterSlot(name, (*context)->device.slot);
  return result == cuda_api::kSuccess ? CheckFaults(**context) : result;
}

const sim::SimComputeInstance* InstanceOf(const sim::SimGpu& gpu, const VisibleDevice& device) {
  return sim::FindComputeInstance(gpu, device.gpu_instance, device.compute_instance);
}

const sim::SimMigProfile* ProfileOf(const sim::SimGpu& gpu, const VisibleDevice& device) {
  const sim::SimGpuInstance* instance = sim::FindGpuInstance(gpu, device.gpu_instance);
  for (uint32_t i = 0; instance != nullptr && i < sim::kMaxMigProfiles; ++i) {
    if (i < gpu.mig.profile_count && gpu.mig.profiles[i].id == instance->profile_id) {
      return &gpu.mig.profiles[i];
    }
  }
  return nullptr;
}

}  // namespace kgpu::simcuda
