#include "testing/cuda/library.h"

#include <pthread.h>

#include <cstdlib>
#include <iterator>

#include "testing/cuda/mps.h"

namespace kgpu::simcuda {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit Library library{};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t key_once = PTHREAD_ONCE_INIT;
pthread_key_t current_key;
pthread_once_t fork_once = PTHREAD_ONCE_INIT;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// The contexts that are current in a thread: the last one counts.
struct ThreadContexts {
  uint32_t count;
  struct {
    ContextObject* context;
    uint64_t id;  // the context's when it became current
  } items[16];
};

// Not thread_local: that would need a symbol of the dynamic loader, which the real library's list
// of needed files has, but which no other part of this one uses.
void MakeKey() {
  (void)pthread_key_create(&current_key, &free);
}

// Null: no memory.
ThreadContexts* OfThread() {
  pthread_once(&key_once, &MakeKey);
  auto* contexts = static_cast<ThreadContexts*>(pthread_getspecific(current_key));
  if (contexts == nullptr) {
    contexts = static_cast<ThreadContexts*>(calloc(1, sizeof(ThreadContexts)));
    (void)pthread_setspecific(current_key, contexts);
  }
  return contexts;
}

// The child has its parent's memory but not its GPUs, as with CUDA itself: what it held there, it
// cannot use. Without this, the connection would keep the memory of a parent that is killed.
void AfterForkInChild() {
  mutex = PTHREAD_MUTEX_INITIALIZER;
  library.is_ready = false;
  library.is_forked = true;
  sim::AbandonSession();
}

void BeforeFork() {
  pthread_mutex_lock(&mutex);
}

void AfterForkInParent() {
  pthread_mutex_unlock(&mutex);
}

// What pthread_atfork(3) calls. That one is in no shared library.
extern "C" int __register_atfork(  // NOLINT(bugprone-reserved-identifier): the C library's name
    void (*prepare)(), void (*parent)(), void (*child)(), void* object);

// Which library the handlers belong to: they go with it.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): the compiler's name
extern "C" void* __dso_handle __attribute__((visibility("hidden")));

void WatchForks() {
  (void)__register_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild, __dso_handle);
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

void PrepareForForks() {
  pthread_once(&fork_once, &WatchForks);
}

ContextObject* CurrentContext() {
  const ThreadContexts* contexts = OfThread();
  if (contexts == nullptr || contexts->count == 0) {
    return nullptr;
  }
  const auto& top = contexts->items[contexts->count - 1];
  return top.context->id == top.id ? top.context : nullptr;
}

bool PushCurrentContext(ContextObject* context) {
  ThreadContexts* contexts = OfThread();
  if (contexts == nullptr || contexts->count == std::size(contexts->items)) {
    return false;
  }
  contexts->items[contexts->count++] = {.context = context, .id = context->id};
  return true;
}

ContextObject* PopCurrentContext() {
  ThreadContexts* contexts = OfThread();
  if (contexts == nullptr || contexts->count == 0) {
    return nullptr;
  }
  return contexts->items[--contexts->count].context;
}

void SetCurrentContext(ContextObject* context) {
  (void)PopCurrentContext();
  if (context != nullptr) {
    (void)PushCurrentContext(context);
  }
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
    const ThreadContexts* contexts = OfThread();
    return contexts != nullptr && contexts->count > 0 ? cuda_api::kContextIsDestroyed
                                                      : cuda_api::kInvalidContext;
  }
  const Result result = EnterSlot(name, (*context)->device.slot);
  return result == cuda_api::kSuccess ? CheckFaults(**context) : result;
}

ContextCall::ContextCall(const char* name) : result_(EnterContext(name, &context_)) {
  // Another thread may have ended it before this one had the lock.
  if (result_ == kSuccess && CurrentContext() != context_) {
    result_ = cuda_api::kContextIsDestroyed;
  }
  if (result_ == kSuccess) {
    result_ = MpsFailure();
  }
}

DeviceCall::DeviceCall(const char* name, cuda_api::Device ordinal)
    : result_(EnterDevice(name, ordinal, &device_)) {
}

SystemCall::SystemCall(const char* name)
    : result_(State().is_ready ? EnterSystem(name) : cuda_api::kNotInitialized) {
}

cuda_api::Device OrdinalOf(uint32_t slot, uint32_t gpu_instance) {
  for (uint32_t i = 0; i < State().device_count; ++i) {
    const VisibleDevice& device = State().devices[i];
    if (device.slot == slot && device.gpu_instance == gpu_instance) {
      return static_cast<cuda_api::Device>(i);
    }
  }
  return -1;
}

const VisibleDevice* DeviceAt(const cuda_api::Location& location) {
  const bool is_device = location.type == cuda_api::kLocationDevice && location.id >= 0 &&
                         static_cast<uint32_t>(location.id) < State().device_count;
  return is_device ? &State().devices[location.id] : nullptr;
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
