// Device memory: plain memory of this process, counted against that of the GPU.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {

using cuda_api::DevicePointer;
using cuda_api::kInvalidValue;
using cuda_api::kSuccess;

namespace {

struct Space {
  uint64_t total;
  uint64_t free;
};

// With the lock held. Every process counts by itself; what other clients of the simulated driver
// are said to use is taken off.
Result ReadSpace(const VisibleDevice& device, Space* space) {
  const Result read = ReadGpu(device, [&](const sim::SimGpu& gpu) {
    const sim::SimMigProfile* profile = device.is_mig ? ProfileOf(gpu, device) : nullptr;
    uint64_t used = profile != nullptr ? 0 : gpu.memory_used + gpu.memory_reserved;
    for (const sim::SimProcess& process : gpu.processes) {
      used += process.pid != 0 && profile == nullptr ? process.used_bytes : 0;
    }
    space->total = profile != nullptr ? profile->memory_mib << 20 : gpu.memory_total;
    space->free = used < space->total ? space->total - used : 0;
  });
  for (const Allocation* at = State().allocations; at != nullptr; at = at->next) {
    if (at->context->device.slot == device.slot) {
      space->free -= at->size < space->free ? at->size : space->free;
    }
  }
  return read;
}

Result Allocate(ContextObject* context, size_t size, DevicePointer* pointer) {
  const Lock lock;
  Space space{};
  const Result read = ReadSpace(context->device, &space);
  if (read != kSuccess || size > space.free) {
    return read != kSuccess ? read : cuda_api::kOutOfMemory;
  }
  auto* made = static_cast<Allocation*>(calloc(1, sizeof(Allocation)));
  // Zeroed by the kernel and touched by nobody: large allocations cost nothing.
  void* bytes = calloc(1, size);
  if (made == nullptr || bytes == nullptr) {
    free(made);
    free(bytes);
    return cuda_api::kOutOfMemory;
  }
  *made = {.next = State().allocations,
           .context = context,
           .bytes = static_cast<uint8_t*>(bytes),
           .size = size};
  State().allocations = made;
  *pointer = reinterpret_cast<DevicePointer>(bytes);
  return kSuccess;
}

Result Free(const ContextObject* context, DevicePointer pointer) {
  const Lock lock;
  for (Allocation** at = &State().allocations; *at != nullptr; at = &(*at)->next) {
    Allocation* found = *at;
    if (found->context == context && reinterpret_cast<DevicePointer>(found->bytes) == pointer) {
      *at = found->next;
      free(found->bytes);
      free(found);
      return kSuccess;
    }
  }
  return kInvalidValue;
}

// The current context's memory at `pointer`; null with the reason in `result`.
void* EnterMemory(const char* name, DevicePointer pointer, size_t size, Result* result) {
  ContextObject* context = nullptr;
  *result = EnterContext(name, &context);
  if (*result != kSuccess) {
    return nullptr;
  }
  const Lock lock;
  void* bytes = Resolve(context, pointer, size);
  *result = bytes == nullptr ? kInvalidValue : kSuccess;
  return bytes;
}

Result ToDevice(DevicePointer to, const void* from, size_t size) {
  Result result = kSuccess;
  void* bytes = EnterMemory("cuMemcpyHtoD", to, size, &result);
  if (bytes != nullptr) {
    memcpy(bytes, from, size);
  }
  return result;
}

Result ToHost(void* to, DevicePointer from, size_t size) {
  Result result = kSuccess;
  const void* bytes = EnterMemory("cuMemcpyDtoH", from, size, &result);
  if (bytes != nullptr) {
    memcpy(to, bytes, size);
  }
  return result;
}

Result WithinDevice(DevicePointer to, DevicePointer from, size_t size) {
  Result result = kSuccess;
  void* target = EnterMemory("cuMemcpyDtoD", to, size, &result);
  const void* source =
      target == nullptr ? nullptr : EnterMemory("cuMemcpyDtoD", from, size, &result);
  if (source != nullptr) {
    memmove(target, source, size);
  }
  return result;
}

}  // namespace

void* Resolve(const ContextObject* context, uint64_t address, size_t size) {
  for (const Allocation* at = State().allocations; at != nullptr; at = at->next) {
    const auto start = reinterpret_cast<uint64_t>(at->bytes);
    if (at->context == context && address >= start && size <= at->size &&
        address - start <= at->size - size) {
      return at->bytes + (address - start);
    }
  }
  return nullptr;
}

void ReleaseMemory(const ContextObject* context) {
  for (Allocation** at = &State().allocations; *at != nullptr;) {
    Allocation* found = *at;
    if (found->context != context) {
      at = &found->next;
      continue;
    }
    *at = found->next;
    free(found->bytes);
    free(found);
  }
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;
using kgpu::simcuda::ContextObject;
using kgpu::simcuda::EnterContext;

KGPU_CUDA cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuMemGetInfo", &context);
  if (entered != kSuccess || free_bytes == nullptr || total == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  const kgpu::simcuda::Lock lock;
  kgpu::simcuda::Space space{};
  const Result result = kgpu::simcuda::ReadSpace(context->device, &space);
  *free_bytes = space.free;
  *total = space.total;
  return result;
}

KGPU_CUDA cuMemAlloc_v2(DevicePointer* pointer, size_t size) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuMemAlloc", &context);
  if (entered != kSuccess || pointer == nullptr || size == 0) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  return kgpu::simcuda::Allocate(context, size, pointer);
}

KGPU_CUDA cuMemFree_v2(DevicePointer pointer) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuMemFree", &context);
  return entered != kSuccess || pointer == 0 ? entered : kgpu::simcuda::Free(context, pointer);
}

KGPU_CUDA cuMemAllocHost_v2(void** pointer, size_t size) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuMemAllocHost", &context);
  if (entered != kSuccess || pointer == nullptr || size == 0) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  *pointer = calloc(1, size);
  return *pointer == nullptr ? kgpu::cuda_api::kOutOfMemory : kSuccess;
}

KGPU_CUDA cuMemFreeHost(void* pointer) {
  free(pointer);
  return kSuccess;
}

KGPU_CUDA cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t size) {
  return kgpu::simcuda::ToDevice(to, from, size);
}
KGPU_CUDA cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t size) {
  return kgpu::simcuda::ToHost(to, from, size);
}
KGPU_CUDA cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t size) {
  return kgpu::simcuda::WithinDevice(to, from, size);
}
// Streams are empty by the time a call returns.
KGPU_CUDA cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t size, Stream) {
  return kgpu::simcuda::ToDevice(to, from, size);
}
KGPU_CUDA cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t size, Stream) {
  return kgpu::simcuda::ToHost(to, from, size);
}
KGPU_CUDA cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t size, Stream) {
  return kgpu::simcuda::WithinDevice(to, from, size);
}

KGPU_CUDA cuMemsetD8_v2(DevicePointer to, unsigned char value, size_t size) {
  Result result = kSuccess;
  void* bytes = kgpu::simcuda::EnterMemory("cuMemsetD8", to, size, &result);
  if (bytes != nullptr) {
    memset(bytes, value, size);
  }
  return result;
}
