// The state behind the simulated libcuda.so.1: the devices that this process may use, and the
// contexts, modules and memory it has created. The GPUs are the simulated driver's, through the
// same session as in the simulated libnvidia-ml.so.1.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "testing/cuda/ptx.h"
#include "testing/driver/libnvidia_ml/call.h"

// An exported function of the driver API.
#define KGPU_CUDA extern "C" __attribute__((visibility("default"))) kgpu::cuda_api::Result

namespace kgpu::simcuda {

using cuda_api::Result;

// A GPU or a MIG device, as cuInit found it.
struct VisibleDevice {
  uint32_t slot;
  bool is_mig;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};

struct ContextObject {
  ContextObject* next;
  VisibleDevice device;
  Result failure;          // of a kernel: every later call of the context returns it
  uint64_t ecc_at_start;   // uncorrected errors when the context was made
  uint32_t primary_users;  // of cuDevicePrimaryCtxRetain; 0: made by cuCtxCreate
  cuda_api::Device ordinal;
};

struct Allocation {
  Allocation* next;
  ContextObject* context;
  uint8_t* bytes;
  size_t size;
};

struct ModuleObject {
  ModuleObject* next;
  ContextObject* context;
  ptx::Module code;
};

// State of a C library between calls can only be global. Guarded by Lock, except `is_ready`.
struct Library {
  bool is_ready;  // cuInit has succeeded; never reset
  uint32_t device_count;
  VisibleDevice devices[sim::kMaxGpus];
  ContextObject* contexts;
  Allocation* allocations;
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

// The current context of this thread; null if there is none.
ContextObject* CurrentContext();
void SetCurrentContext(ContextObject* context);

// The CUDA result for a result of the session.
Result ResultOf(nvml::Return result);

// The first step of every call: takes as long as the simulated faults say, and fails if the driver
// or the GPU fails. `name` is the function's.
Result EnterSystem(const char* name);
Result EnterDevice(const char* name, cuda_api::Device ordinal, VisibleDevice* device);
// The same for the current context; `context` must not be null.
Result EnterContext(const char* name, ContextObject** context);

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

// `size` bytes at `address` in one allocation of `context`, or null. Call with the lock held.
void* Resolve(const ContextObject* context, uint64_t address, size_t size);

// Frees everything a context has created. Call with the lock held.
void ReleaseMemory(const ContextObject* context);
void ReleaseModules(const ContextObject* context);

}  // namespace kgpu::simcuda
