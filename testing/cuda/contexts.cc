// Contexts: made, current, ended.
#include <cstdlib>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kSuccess;

ContextObject* FindContext(cuda_api::Context handle) {
  for (ContextObject* at = State().contexts; at != nullptr; at = at->next) {
    if (reinterpret_cast<cuda_api::Context>(at) == handle) {
      return at;
    }
  }
  return nullptr;
}

// With the lock held.
Result Make(cuda_api::Device ordinal, const VisibleDevice& device, ContextObject** made) {
  auto* context = static_cast<ContextObject*>(calloc(1, sizeof(ContextObject)));
  if (context == nullptr) {
    return cuda_api::kOutOfMemory;
  }
  context->device = device;
  context->ordinal = ordinal;
  const Result read = ReadGpu(device, [&](const sim::SimGpu& gpu) {
    context->ecc_at_start = 0;
    for (const uint64_t count : gpu.ecc.volatile_uncorrected) {
      context->ecc_at_start += count;
    }
  });
  if (read != kSuccess) {
    free(context);
    return read;
  }
  context->next = State().contexts;
  State().contexts = context;
  *made = context;
  return kSuccess;
}

// With the lock held.
void Destroy(ContextObject* context) {
  ReleaseModules(context);
  ReleaseMemory(context);
  for (ContextObject** at = &State().contexts; *at != nullptr; at = &(*at)->next) {
    if (*at == context) {
      *at = context->next;
      break;
    }
  }
  if (CurrentContext() == context) {
    SetCurrentContext(nullptr);
  }
  free(context);
}

ContextObject* FindPrimary(cuda_api::Device ordinal) {
  ContextObject* at = State().contexts;
  while (at != nullptr && (at->primary_users == 0 || at->ordinal != ordinal)) {
    at = at->next;
  }
  return at;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::Context;
using kgpu::cuda_api::kInvalidContext;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kNotInitialized;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextObject;
using kgpu::simcuda::EnterDevice;
using kgpu::simcuda::Lock;
using kgpu::simcuda::SetCurrentContext;
using kgpu::simcuda::State;
using kgpu::simcuda::VisibleDevice;

KGPU_CUDA cuCtxCreate_v2(Context* context, unsigned, kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result entered = EnterDevice("cuCtxCreate", ordinal, &device);
  if (entered != kSuccess || context == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  const Lock lock;
  ContextObject* made = nullptr;
  const Result result = kgpu::simcuda::Make(ordinal, device, &made);
  if (result == kSuccess) {
    SetCurrentContext(made);
    *context = reinterpret_cast<Context>(made);
  }
  return result;
}

// Works for a context whose GPU has failed: it is how a program gets rid of it.
KGPU_CUDA cuCtxDestroy_v2(Context handle) {
  const Lock lock;
  ContextObject* context = kgpu::simcuda::FindContext(handle);
  if (context == nullptr || context->primary_users != 0) {
    return kInvalidContext;
  }
  kgpu::simcuda::Destroy(context);
  return kSuccess;
}

KGPU_CUDA cuDevicePrimaryCtxRetain(Context* context, kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result entered = EnterDevice("cuDevicePrimaryCtxRetain", ordinal, &device);
  if (entered != kSuccess || context == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  const Lock lock;
  ContextObject* primary = kgpu::simcuda::FindPrimary(ordinal);
  if (primary == nullptr) {
    const Result made = kgpu::simcuda::Make(ordinal, device, &primary);
    if (made != kSuccess) {
      return made;
    }
  }
  ++primary->primary_users;
  *context = reinterpret_cast<Context>(primary);
  return kSuccess;
}

KGPU_CUDA cuDevicePrimaryCtxRelease_v2(kgpu::cuda_api::Device ordinal) {
  const Lock lock;
  ContextObject* primary = kgpu::simcuda::FindPrimary(ordinal);
  if (primary == nullptr) {
    return kInvalidContext;
  }
  if (--primary->primary_users == 0) {
    kgpu::simcuda::Destroy(primary);
  }
  return kSuccess;
}

KGPU_CUDA cuCtxSetCurrent(Context handle) {
  const Lock lock;
  ContextObject* context = kgpu::simcuda::FindContext(handle);
  if (handle != nullptr && context == nullptr) {
    return kInvalidContext;
  }
  SetCurrentContext(context);
  return kSuccess;
}

KGPU_CUDA cuCtxGetCurrent(Context* context) {
  if (context == nullptr) {
    return kInvalidValue;
  }
  *context = reinterpret_cast<Context>(kgpu::simcuda::CurrentContext());
  return State().is_ready ? kSuccess : kNotInitialized;
}

KGPU_CUDA cuCtxGetDevice(kgpu::cuda_api::Device* device) {
  const ContextObject* context = kgpu::simcuda::CurrentContext();
  if (context == nullptr || device == nullptr) {
    return context == nullptr ? kInvalidContext : kInvalidValue;
  }
  *device = context->ordinal;
  return kSuccess;
}

KGPU_CUDA cuCtxSynchronize() {
  ContextObject* context = nullptr;
  return kgpu::simcuda::EnterContext("cuCtxSynchronize", &context);
}
