// Contexts: made, current, ended. Each costs memory of the GPU.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"
#include "testing/cuda/mps.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

constexpr uint32_t kKnownFlags = 0xff;

// With the lock held, here and below.
ContextObject* FindContext(cuda_api::Context handle) {
  for (ContextObject* at = State().contexts; at != nullptr; at = at->next) {
    if (at->id != 0 && reinterpret_cast<cuda_api::Context>(at) == handle) {
      return at;
    }
  }
  return nullptr;
}

// One that has ended, or a new one.
ContextObject* Unused() {
  ContextObject* at = State().contexts;
  while (at != nullptr && at->id != 0) {
    at = at->next;
  }
  if (at == nullptr) {
    at = static_cast<ContextObject*>(calloc(1, sizeof(ContextObject)));
    if (at != nullptr) {
      at->next = State().contexts;
      State().contexts = at;
    }
  }
  return at;
}

Result Make(cuda_api::Device ordinal, const VisibleDevice& device, uint32_t flags,
            ContextObject** made) {
  if (const Result joined = JoinMps(); joined != kSuccess) {
    return joined;
  }
  uint64_t errors = 0;
  uint64_t cost = 0;
  uint32_t mode = 0;
  const Result read = ReadGpu(device, [&](const sim::SimGpu& gpu) {
    errors = 0;
    for (const uint64_t count : gpu.ecc.volatile_uncorrected) {
      errors += count;
    }
    cost = sim::ContextBytes(gpu);
    mode = gpu.compute_mode;
  });
  constexpr uint32_t kProhibited = 2;
  if (read != kSuccess || mode == kProhibited) {
    return read != kSuccess ? read : cuda_api::kDeviceUnavailable;
  }
  if (const Result charged = Charge(device, cost); charged != kSuccess) {
    return charged;
  }
  ContextObject* context = Unused();
  if (context == nullptr) {
    Refund(device, cost);
    return cuda_api::kOutOfMemory;
  }
  *context = {.next = context->next,
              .id = ++State().last_id,
              .device = device,
              .failure = kSuccess,
              .ecc_at_start = errors,
              .is_primary = false,
              .primary_users = 0,
              .ordinal = ordinal,
              .flags = flags,
              .charged = cost,
              .heap = {},
              .graphs = {}};
  *made = context;
  return kSuccess;
}

bool HasContext(const VisibleDevice& device) {
  const ContextObject* at = State().contexts;
  while (at != nullptr && (at->id == 0 || !IsSameMemory(at->device, device))) {
    at = at->next;
  }
  return at != nullptr;
}

void Destroy(ContextObject* context) {
  ReleaseModules(context);
  ReleaseMemory(context);
  ReleaseGraphMemory(context);
  ReleaseArrays(context);
  RemoveAll(&context->heap, context->device);
  Refund(context->device, context->charged);
  if (CurrentContext() == context) {
    SetCurrentContext(nullptr);
  }
  context->id = 0;
  if (!HasContext(context->device)) {
    ReleasePools(context->device);
  }
}

ContextObject* FindPrimary(cuda_api::Device ordinal) {
  ContextObject* at = State().contexts;
  while (at != nullptr && (at->id == 0 || !at->is_primary || at->ordinal != ordinal)) {
    at = at->next;
  }
  return at;
}

Result Create(cuda_api::Context* context, uint32_t flags, cuda_api::Device ordinal) {
  const DeviceCall call("cuCtxCreate", ordinal);
  const Result checked = call.Check(context != nullptr && flags <= kKnownFlags);
  ContextObject* made = nullptr;
  const Result result = checked == kSuccess ? Make(ordinal, call.device(), flags, &made) : checked;
  if (result != kSuccess) {
    return result;
  }
  if (!PushCurrentContext(made)) {
    Destroy(made);
    return cuda_api::kOutOfMemory;
  }
  *context = reinterpret_cast<cuda_api::Context>(made);
  return kSuccess;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::Context;
using kgpu::cuda_api::Device;
using kgpu::cuda_api::kInvalidContext;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kNotInitialized;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::ContextObject;
using kgpu::simcuda::DeviceCall;
using kgpu::simcuda::Lock;
using kgpu::simcuda::State;

KGPU_CUDA cuCtxCreate_v2(Context* context, unsigned flags, Device ordinal) {
  return kgpu::simcuda::Create(context, flags, ordinal);
}
KGPU_CUDA cuCtxCreate(Context*, unsigned, Device) KGPU_CUDA_ALIAS(cuCtxCreate_v2);
// A part of the multiprocessors is as good as all of them here.
KGPU_CUDA cuCtxCreate_v3(Context* context, kgpu::cuda_api::ExecAffinityParam* affinities, int count,
                         unsigned flags, Device ordinal) {
  return count < 0 || (count > 0 && affinities == nullptr)
             ? kInvalidValue
             : kgpu::simcuda::Create(context, flags, ordinal);
}
KGPU_CUDA cuCtxCreate_v4(Context* context, kgpu::cuda_api::ContextCreateParams* params,
                         unsigned flags, Device ordinal) {
  return params != nullptr && params->affinity_count > 0 && params->affinities == nullptr
             ? kInvalidValue
             : kgpu::simcuda::Create(context, flags, ordinal);
}

// Works for a context whose GPU has failed: it is how a program gets rid of it.
KGPU_CUDA cuCtxDestroy_v2(Context handle) {
  const Lock lock;
  ContextObject* context = kgpu::simcuda::FindContext(handle);
  if (context == nullptr || context->is_primary) {
    return State().is_ready ? kInvalidContext : kNotInitialized;
  }
  kgpu::simcuda::Destroy(context);
  return kSuccess;
}
KGPU_CUDA cuCtxDestroy(Context) KGPU_CUDA_ALIAS(cuCtxDestroy_v2);

KGPU_CUDA cuDevicePrimaryCtxRetain(Context* context, Device ordinal) {
  const DeviceCall call("cuDevicePrimaryCtxRetain", ordinal);
  if (const Result checked = call.Check(context != nullptr); checked != kSuccess) {
    return checked;
  }
  ContextObject* primary = kgpu::simcuda::FindPrimary(ordinal);
  if (primary == nullptr) {
    const Result made =
        kgpu::simcuda::Make(ordinal, call.device(), State().primary_flags[ordinal], &primary);
    if (made != kSuccess) {
      return made;
    }
    primary->is_primary = true;
  }
  ++primary->primary_users;
  *context = reinterpret_cast<Context>(primary);
  return kSuccess;
}

KGPU_CUDA cuDevicePrimaryCtxRelease_v2(Device ordinal) {
  const Lock lock;
  ContextObject* primary = kgpu::simcuda::FindPrimary(ordinal);
  if (primary == nullptr) {
    return State().is_ready ? kInvalidContext : kNotInitialized;
  }
  if (--primary->primary_users == 0) {
    kgpu::simcuda::Destroy(primary);
  }
  return kSuccess;
}
KGPU_CUDA cuDevicePrimaryCtxRelease(Device) KGPU_CUDA_ALIAS(cuDevicePrimaryCtxRelease_v2);

// Ends the context for all its users.
KGPU_CUDA cuDevicePrimaryCtxReset_v2(Device ordinal) {
  const DeviceCall call("cuDevicePrimaryCtxReset", ordinal);
  if (const Result checked = call.Check(true); checked != kSuccess) {
    return checked;
  }
  if (ContextObject* primary = kgpu::simcuda::FindPrimary(ordinal); primary != nullptr) {
    kgpu::simcuda::Destroy(primary);
  }
  return kSuccess;
}
KGPU_CUDA cuDevicePrimaryCtxReset(Device) KGPU_CUDA_ALIAS(cuDevicePrimaryCtxReset_v2);

KGPU_CUDA cuDevicePrimaryCtxGetState(Device ordinal, unsigned* flags, int* is_active) {
  const DeviceCall call("cuDevicePrimaryCtxGetState", ordinal);
  if (const Result checked = call.Check(flags != nullptr && is_active != nullptr);
      checked != kSuccess) {
    return checked;
  }
  *flags = State().primary_flags[ordinal];
  *is_active = kgpu::simcuda::FindPrimary(ordinal) != nullptr ? 1 : 0;
  return kSuccess;
}

KGPU_CUDA cuDevicePrimaryCtxSetFlags_v2(Device ordinal, unsigned flags) {
  const DeviceCall call("cuDevicePrimaryCtxSetFlags", ordinal);
  if (const Result checked = call.Check(flags <= kgpu::simcuda::kKnownFlags); checked != kSuccess) {
    return checked;
  }
  State().primary_flags[ordinal] = flags;
  return kSuccess;
}
KGPU_CUDA cuDevicePrimaryCtxSetFlags(Device, unsigned)
    KGPU_CUDA_ALIAS(cuDevicePrimaryCtxSetFlags_v2);

KGPU_CUDA cuCtxSetCurrent(Context handle) {
  const Lock lock;
  ContextObject* context = kgpu::simcuda::FindContext(handle);
  if (!State().is_ready || (handle != nullptr && context == nullptr)) {
    return State().is_ready ? kInvalidContext : kNotInitialized;
  }
  kgpu::simcuda::SetCurrentContext(context);
  return kSuccess;
}

KGPU_CUDA cuCtxPushCurrent_v2(Context handle) {
  const Lock lock;
  ContextObject* context = kgpu::simcuda::FindContext(handle);
  if (!State().is_ready || context == nullptr) {
    return State().is_ready ? kInvalidContext : kNotInitialized;
  }
  return kgpu::simcuda::PushCurrentContext(context) ? kSuccess : kInvalidValue;
}
KGPU_CUDA cuCtxPushCurrent(Context) KGPU_CUDA_ALIAS(cuCtxPushCurrent_v2);

KGPU_CUDA cuCtxPopCurrent_v2(Context* handle) {
  const Lock lock;
  ContextObject* context = State().is_ready ? kgpu::simcuda::PopCurrentContext() : nullptr;
  if (context == nullptr) {
    return State().is_ready ? kInvalidContext : kNotInitialized;
  }
  if (handle != nullptr) {
    *handle = reinterpret_cast<Context>(context);
  }
  return kSuccess;
}
KGPU_CUDA cuCtxPopCurrent(Context*) KGPU_CUDA_ALIAS(cuCtxPopCurrent_v2);

KGPU_CUDA cuCtxGetCurrent(Context* context) {
  if (context == nullptr || !State().is_ready) {
    return State().is_ready ? kInvalidValue : kNotInitialized;
  }
  *context = reinterpret_cast<Context>(kgpu::simcuda::CurrentContext());
  return kSuccess;
}

KGPU_CUDA cuCtxGetDevice(Device* device) {
  const ContextObject* context = State().is_ready ? kgpu::simcuda::CurrentContext() : nullptr;
  if (context == nullptr || device == nullptr) {
    return context == nullptr ? kInvalidContext : kInvalidValue;
  }
  *device = context->ordinal;
  return kSuccess;
}

KGPU_CUDA cuCtxGetFlags(unsigned* flags) {
  const ContextObject* context = State().is_ready ? kgpu::simcuda::CurrentContext() : nullptr;
  if (context == nullptr || flags == nullptr) {
    return context == nullptr ? kInvalidContext : kInvalidValue;
  }
  *flags = context->flags;
  return kSuccess;
}

KGPU_CUDA cuCtxSynchronize() {
  const ContextCall call("cuCtxSynchronize");
  const Result checked = call.Check(true);
  if (checked == kSuccess) {
    kgpu::simcuda::SettlePools(call->device);
  }
  return checked;
}
