// Linear memory of devices, managed memory, and how much there is. It is memory of this process,
// counted against that of the GPU.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::DevicePointer;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

Result Allocate(ContextObject* context, size_t size, Placing placing, DevicePointer* pointer) {
  Block block{};
  const Result placed = Place(&context->heap, context->device, size, placing, &block);
  if (placed != kSuccess) {
    return placed;
  }
  Range range{};
  range.start = reinterpret_cast<uint64_t>(block.bytes);
  range.size = size;
  range.kind = RangeKind::kLinear;
  range.context = context;
  range.device = context->device;
  range.block = block;
  if (AddRange(range) == nullptr) {
    Remove(&context->heap, context->device, block);
    return kOutOfMemory;
  }
  *pointer = range.start;
  return kSuccess;
}

// Managed memory moves between the GPU and the host. Here, it is on the GPU for good if there is
// room for it, and otherwise on the host.
Result AllocateManaged(ContextObject* context, size_t size, unsigned flags,
                       DevicePointer* pointer) {
  Block block{};
  Heap* heap = &context->heap;
  Result placed = Place(heap, context->device, size, Placing::kCharged, &block);
  if (placed == kOutOfMemory) {
    placed = Place(heap, context->device, size, Placing::kUncharged, &block);
  }
  if (placed != kSuccess) {
    return placed;
  }
  Range range{};
  range.start = reinterpret_cast<uint64_t>(block.bytes);
  range.size = size;
  range.kind = RangeKind::kManaged;
  range.flags = flags;
  range.context = context;
  range.device = context->device;
  range.block = block;
  if (AddRange(range) == nullptr) {
    Remove(heap, context->device, block);
    return kOutOfMemory;
  }
  *pointer = range.start;
  return kSuccess;
}

Result Allocate(const char* name, DevicePointer* pointer, size_t size, Placing placing) {
  const ContextCall call(name);
  const Result checked = call.Check(pointer != nullptr && size != 0);
  return checked == kSuccess ? Allocate(call.context(), size, placing, pointer) : checked;
}

Result AllocateRows(DevicePointer* pointer, size_t* pitch, size_t width, size_t height,
                    unsigned element_size, Placing placing) {
  const ContextCall call("cuMemAllocPitch");
  const bool is_element = element_size == 4 || element_size == 8 || element_size == 16;
  const Result checked =
      call.Check(pointer != nullptr && pitch != nullptr && width != 0 && height != 0 && is_element);
  size_t size = 0;
  if (checked != kSuccess) {
    return checked;
  }
  if (width > SIZE_MAX - kUnitBytes ||
      __builtin_mul_overflow(RoundUp(width, kUnitBytes), height, &size)) {
    return kOutOfMemory;
  }
  const Result result = Allocate(call.context(), size, placing, pointer);
  if (result == kSuccess) {
    *pitch = RoundUp(width, kUnitBytes);
  }
  return result;
}

bool IsFreedByMemFree(RangeKind kind) {
  switch (kind) {
    case RangeKind::kLinear:
    case RangeKind::kManaged:
    case RangeKind::kPool:
    case RangeKind::kPoolImport:
    case RangeKind::kExternal:
    case RangeKind::kGraph:
      return true;
    default:
      return false;
  }
}

Result Free(DevicePointer pointer) {
  const ContextCall call("cuMemFree");
  const Result checked = call.Check(true);
  if (checked != kSuccess || pointer == 0) {
    return checked;
  }
  Range* range = FindStart(pointer);
  if (range == nullptr || !IsFreedByMemFree(range->kind)) {
    return kInvalidValue;
  }
  const VisibleDevice device = range->device;
  FreeRange(range);
  SettlePools(device);  // it waits for the work before it
  return kSuccess;
}

Result GetInfo(size_t* free_bytes, size_t* total) {
  const ContextCall call("cuMemGetInfo");
  const Result checked = call.Check(free_bytes != nullptr && total != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  Space space{};
  const Result result = AskSpace(call->device, &space);
  *free_bytes = space.free;
  *total = space.total;
  return result;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::DevicePointerV1;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::Placing;

KGPU_CUDA cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  return kgpu::simcuda::GetInfo(free_bytes, total);
}
KGPU_CUDA cuMemGetInfo(uint32_t* free_bytes, uint32_t* total) {
  if (free_bytes == nullptr || total == nullptr) {
    return kInvalidValue;
  }
  size_t all_free = 0;
  size_t all = 0;
  const Result result = kgpu::simcuda::GetInfo(&all_free, &all);
  *free_bytes = all_free < UINT32_MAX ? static_cast<uint32_t>(all_free) : UINT32_MAX;
  *total = all < UINT32_MAX ? static_cast<uint32_t>(all) : UINT32_MAX;
  return result;
}

KGPU_CUDA cuMemAlloc_v2(DevicePointer* pointer, size_t size) {
  return kgpu::simcuda::Allocate("cuMemAlloc", pointer, size, Placing::kCharged);
}
KGPU_CUDA cuMemAlloc(DevicePointerV1* pointer, uint32_t size) {
  DevicePointer made = 0;
  const Result result = pointer == nullptr
                            ? kInvalidValue
                            : kgpu::simcuda::Allocate("cuMemAlloc", &made, size, Placing::kLow);
  if (result == kSuccess) {
    *pointer = static_cast<DevicePointerV1>(made);
  }
  return result;
}

KGPU_CUDA cuMemAllocPitch_v2(DevicePointer* pointer, size_t* pitch, size_t width, size_t height,
                             unsigned element_size) {
  return kgpu::simcuda::AllocateRows(pointer, pitch, width, height, element_size,
                                     Placing::kCharged);
}
KGPU_CUDA cuMemAllocPitch(DevicePointerV1* pointer, uint32_t* pitch, uint32_t width,
                          uint32_t height, unsigned element_size) {
  DevicePointer made = 0;
  size_t made_pitch = 0;
  const Result result = pointer == nullptr || pitch == nullptr
                            ? kInvalidValue
                            : kgpu::simcuda::AllocateRows(&made, &made_pitch, width, height,
                                                          element_size, Placing::kLow);
  if (result == kSuccess) {
    *pointer = static_cast<DevicePointerV1>(made);
    *pitch = static_cast<uint32_t>(made_pitch);
  }
  return result;
}

KGPU_CUDA cuMemAllocManaged(DevicePointer* pointer, size_t size, unsigned flags) {
  const ContextCall call("cuMemAllocManaged");
  const Result checked = call.Check(pointer != nullptr && size != 0 && (flags == 1 || flags == 2));
  return checked == kSuccess ? kgpu::simcuda::AllocateManaged(call.context(), size, flags, pointer)
                             : checked;
}

KGPU_CUDA cuMemFree_v2(DevicePointer pointer) {
  return kgpu::simcuda::Free(pointer);
}
KGPU_CUDA cuMemFree(DevicePointerV1 pointer) {
  return kgpu::simcuda::Free(pointer);
}
