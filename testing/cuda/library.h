// The state behind the simulated libcuda.so.1: the devices that this process may use, and the
// contexts and modules it has created. The GPUs are the simulated driver's, through the same
// session as in the simulated libnvidia-ml.so.1.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/functions.h"
#include "testing/cuda/heap.h"
#include "testing/cuda/ptx.h"
#include "testing/cuda/visible_device.h"
#include "testing/driver/libnvidia_ml/call.h"

// An exported function of the driver API.
#define KGPU_CUDA extern "C" __attribute__((visibility("default"))) kgpu::cuda_api::Result
// The same function under another name.
#define KGPU_CUDA_ALIAS(of) __attribute__((alias(#of)))

namespace kgpu::simcuda {

using cuda_api::kSuccess;
using cuda_api::Result;

struct PoolObject;

// Memory of graphs: virtual addresses belong to a graph's node, memory to the context.
struct GraphMemory {
  uint64_t used;
  uint64_t used_high;
  uint64_t reserved;
  uint64_t reserved_high;
};

// Never freed, so that a thread that still has it as its current one can see that it has ended.
struct ContextObject {
  ContextObject* next;
  uint64_t id;  // 0: has ended; unique otherwise
  VisibleDevice device;
  Result failure;         // of a kernel: every later call of the context returns it
  uint64_t ecc_at_start;  // uncorrected errors when the context was made
  bool is_primary;
  uint32_t primary_users;  // of cuDevicePrimaryCtxRetain
  cuda_api::Device ordinal;
  uint32_t flags;
  uint64_t charged;  // for the context itself
  Heap heap;
  GraphMemory graphs;
};

struct ModuleObject {
  ModuleObject* next;
  ContextObject* context;
  ptx::Module code;
};

// State of a C library between calls can only be global. Guarded by Lock, except `is_ready`.
struct Library {
  bool is_ready;   // cuInit has succeeded
  bool is_forked;  // this process is the child of one that used CUDA: it cannot
  uint32_t device_count;
  VisibleDevice devices[sim::kMaxGpus];
  uint32_t primary_flags[sim::kMaxGpus];
  uint64_t last_id;
  ContextObject* contexts;  // those that have ended, too
  ModuleObject* modules;
};
Library& State();

class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

// From the first success of cuInit on, children of this process have no CUDA.
void PrepareForForks();

// The current context of this thread; null if there is none or it has ended.
ContextObject* CurrentContext();
// Replaces the current context; null: the one before it becomes current.
void SetCurrentContext(ContextObject* context);
// False: too many.
bool PushCurrentContext(ContextObject* context);
// The context that was current, or null.
ContextObject* PopCurrentContext();

// The CUDA result for a result of the session.
Result ResultOf(nvml::Return result);

// The first step of every call: takes as long as the simulated faults say, and fails if the driver
// or the GPU fails. `name` is the function's.
Result EnterSystem(const char* name);
Result EnterDevice(const char* name, cuda_api::Device ordinal, VisibleDevice* device);
// The same for the current context; `context` must not be null.
Result EnterContext(const char* name, ContextObject** context);

// A call in the current context: entered, and with the lock held until its end.
class ContextCall {
 public:
  explicit ContextCall(const char* name);
  ContextObject* operator->() const { return context_; }
  ContextObject* context() const { return context_; }
  // Why the call must end here; kSuccess: it goes on if `are_arguments_good`.
  Result Check(bool are_arguments_good) const {
    return result_ != kSuccess || are_arguments_good ? result_ : cuda_api::kInvalidValue;
  }

 private:
  ContextObject* context_ = nullptr;
  Result result_;
  Lock lock_;
};

// The same for a device.
class DeviceCall {
 public:
  DeviceCall(const char* name, cuda_api::Device ordinal);
  const VisibleDevice& device() const { return device_; }
  Result Check(bool are_arguments_good) const {
    return result_ != kSuccess || are_arguments_good ? result_ : cuda_api::kInvalidValue;
  }

 private:
  VisibleDevice device_{};
  Result result_;
  Lock lock_;
};

// A call without context or device, after cuInit.
class SystemCall {
 public:
  explicit SystemCall(const char* name);
  Result Check(bool are_arguments_good) const {
    return result_ != kSuccess || are_arguments_good ? result_ : cuda_api::kInvalidValue;
  }

 private:
  Result result_;
  Lock lock_;
};

// Reads a value of the device's GPU: `read` gets the SimGpu.
template <typename Read>
Result ReadGpu(const VisibleDevice& device, Read&& read) {
  const sim::SessionRef session;
  if (!session) {
    return cuda_api::kNotInitialized;
  }
  return ResultOf(sim::ReadState(*session->shared.state, [&](const sim::SimState& state) {
    read(state.gpus[device.slot]);
    return nvml::kSuccess;
  }));
}

// The instance behind a MIG device, or null if it is gone.
const sim::SimComputeInstance* InstanceOf(const sim::SimGpu& gpu, const VisibleDevice& device);
const sim::SimMigProfile* ProfileOf(const sim::SimGpu& gpu, const VisibleDevice& device);

// Finds the session's GPUs that CUDA_VISIBLE_DEVICES and the device nodes allow.
void FindDevices(const sim::Session& session, Library* library);
// The ordinal of the device whose memory this is, or -1: it is not visible. With the lock held.
cuda_api::Device OrdinalOf(uint32_t slot, uint32_t gpu_instance);
// The device of a location, or null. With the lock held.
const VisibleDevice* DeviceAt(const cuda_api::Location& location);

// `size` bytes at `address` that `context` may use, or null. With the lock held. `context` may be
// null.
void* Resolve(const ContextObject* context, uint64_t address, size_t size);

// Frees everything a context has created. With the lock held.
void ReleaseMemory(ContextObject* context);
void ReleaseArrays(const ContextObject* context);
void ReleaseModules(const ContextObject* context);
void ReleaseGraphMemory(ContextObject* context);
// A bit for the ordinal of each device that may use the pool's memory.
uint64_t PoolAccess(const PoolObject& pool);
// The pools of a device without contexts give everything back. With the lock held.
void ReleasePools(const VisibleDevice& device);
// The pools give back what they keep beyond their thresholds: the streams are empty. With the lock
// held.
void SettlePools(const VisibleDevice& device);

}  // namespace kgpu::simcuda
