// Pinned memory of the host: made by CUDA, or the program's own.
#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

Result AllocateHost(const char* name, void** pointer, size_t size, unsigned flags) {
  constexpr unsigned kKnown =
      cuda_api::kHostPortable | cuda_api::kHostDeviceMap | cuda_api::kHostWriteCombined;
  const ContextCall call(name);
  const Result checked = call.Check(pointer != nullptr && size != 0 && (flags & ~kKnown) == 0);
  if (checked != kSuccess) {
    return checked;
  }
  Block block{};
  const Result placed = Place(&call->heap, call->device, size, Placing::kUncharged, &block);
  if (placed != kSuccess) {
    return placed;
  }
  Range range{};
  range.start = reinterpret_cast<uint64_t>(block.bytes);
  range.size = size;
  range.kind = RangeKind::kHost;
  range.flags = flags;
  range.context = call.context();
  range.device = call->device;
  range.block = block;
  if (AddRange(range) == nullptr) {
    Remove(&call->heap, call->device, block);
    return kOutOfMemory;
  }
  *pointer = block.bytes;
  return kSuccess;
}

Range* FindHost(const void* pointer, RangeKind kind) {
  Range* range = FindStart(reinterpret_cast<uint64_t>(pointer));
  return range != nullptr && range->kind == kind ? range : nullptr;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::DevicePointerV1;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::Range;
using kgpu::simcuda::RangeKind;

KGPU_CUDA cuMemAllocHost_v2(void** pointer, size_t size) {
  return kgpu::simcuda::AllocateHost("cuMemAllocHost", pointer, size, 0);
}
KGPU_CUDA cuMemAllocHost(void** pointer, uint32_t size) {
  return kgpu::simcuda::AllocateHost("cuMemAllocHost", pointer, size, 0);
}
KGPU_CUDA cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return kgpu::simcuda::AllocateHost("cuMemHostAlloc", pointer, size, flags);
}

KGPU_CUDA cuMemFreeHost(void* pointer) {
  const ContextCall call("cuMemFreeHost");
  const Result checked = call.Check(true);
  if (checked != kSuccess || pointer == nullptr) {
    return checked;
  }
  Range* range = kgpu::simcuda::FindHost(pointer, RangeKind::kHost);
  if (range == nullptr) {
    return kInvalidValue;
  }
  kgpu::simcuda::FreeRange(range);
  return kSuccess;
}

KGPU_CUDA cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  const ContextCall call("cuMemHostRegister");
  const auto start = reinterpret_cast<uint64_t>(pointer);
  constexpr unsigned kKnown = kgpu::cuda_api::kRegisterPortable |
                              kgpu::cuda_api::kRegisterDeviceMap |
                              kgpu::cuda_api::kRegisterIoMemory | kgpu::cuda_api::kRegisterReadOnly;
  const Result checked =
      call.Check(pointer != nullptr && size != 0 && start + size > start && (flags & ~kKnown) == 0);
  if (checked != kSuccess) {
    return checked;
  }
  if (kgpu::simcuda::HasRangeIn(start, size)) {
    return kgpu::cuda_api::kHostMemoryAlreadyRegistered;
  }
  Range range{};
  range.start = start;
  range.size = size;
  range.kind = RangeKind::kRegistered;
  range.flags = flags;
  range.context = call.context();
  range.device = call->device;
  return kgpu::simcuda::AddRange(range) == nullptr ? kgpu::cuda_api::kOutOfMemory : kSuccess;
}
KGPU_CUDA cuMemHostRegister(void*, size_t, unsigned) KGPU_CUDA_ALIAS(cuMemHostRegister_v2);

KGPU_CUDA cuMemHostUnregister(void* pointer) {
  const ContextCall call("cuMemHostUnregister");
  const Result checked = call.Check(pointer != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  Range* range = kgpu::simcuda::FindHost(pointer, RangeKind::kRegistered);
  if (range == nullptr) {
    return kgpu::cuda_api::kHostMemoryNotRegistered;
  }
  kgpu::simcuda::FreeRange(range);
  return kSuccess;
}

// One address for the host and all devices.
KGPU_CUDA cuMemHostGetDevicePointer_v2(DevicePointer* device_pointer, void* pointer,
                                       unsigned flags) {
  const ContextCall call("cuMemHostGetDevicePointer");
  const Result checked = call.Check(device_pointer != nullptr && pointer != nullptr && flags == 0);
  if (checked != kSuccess) {
    return checked;
  }
  const Range* range = kgpu::simcuda::FindRange(reinterpret_cast<uint64_t>(pointer));
  if (range == nullptr ||
      (range->kind != RangeKind::kHost && range->kind != RangeKind::kRegistered)) {
    return kInvalidValue;
  }
  *device_pointer = reinterpret_cast<DevicePointer>(pointer);
  return kSuccess;
}

KGPU_CUDA cuMemHostGetFlags(unsigned* flags, void* pointer) {
  const ContextCall call("cuMemHostGetFlags");
  const Result checked = call.Check(flags != nullptr && pointer != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  const Range* range = kgpu::simcuda::FindRange(reinterpret_cast<uint64_t>(pointer));
  if (range == nullptr || range->kind != RangeKind::kHost) {
    return kInvalidValue;
  }
  *flags = range->flags;
  return kSuccess;
}
