// What CUDA knows of an address.
#include <cstring>

#include "testing/cuda/library.h"
#include "testing/cuda/pools.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::PointerAttribute;

bool IsOnHost(const Range& range) {
  return range.kind == RangeKind::kHost || range.kind == RangeKind::kRegistered;
}

template <typename Value>
bool PutValue(void* out, const Value& value) {
  memcpy(out, &value, sizeof(value));
  return true;
}

// The attributes of memory that CUDA knows. False: this memory has none such.
bool Put(const Range& range, PointerAttribute attribute, cuda_api::DevicePointer pointer,
         void* out) {
  switch (attribute) {
    case cuda_api::kPointerContext:
      return PutValue(out, reinterpret_cast<cuda_api::Context>(range.context));
    case cuda_api::kPointerMemoryType:
      return PutValue(out, IsOnHost(range) ? cuda_api::kTypeHost : cuda_api::kTypeDevice);
    case cuda_api::kPointerDevicePointer:
      return PutValue(out, pointer);
    case cuda_api::kPointerHostPointer:
      return (IsOnHost(range) || range.kind == RangeKind::kManaged) && PutValue(out, pointer);
    case cuda_api::kPointerSyncMemops:
    case cuda_api::kPointerIsRdmaCapable:
      return PutValue(out, 0);
    case cuda_api::kPointerBufferId:
      return PutValue(out, range.id);
    case cuda_api::kPointerIsManaged:
      return PutValue(out, range.kind == RangeKind::kManaged ? 1 : 0);
    case cuda_api::kPointerDeviceOrdinal:
      return PutValue(out, OrdinalOf(range.device.slot, range.device.gpu_instance));
    case cuda_api::kPointerIsLegacyIpcCapable:
      return PutValue(out, range.kind == RangeKind::kLinear ? 1 : 0);
    case cuda_api::kPointerRangeStart:
    case cuda_api::kPointerMappingBase:
      return PutValue(out, range.start);
    case cuda_api::kPointerRangeSize:
    case cuda_api::kPointerMappingSize:
      return PutValue(out, range.size);
    case cuda_api::kPointerMapped:
      return PutValue(out, 1);
    case cuda_api::kPointerAllowedHandleTypes:
      return PutValue(out, range.memory.object != 0 ? uint64_t{1} : uint64_t{0});
    case cuda_api::kPointerAccessFlags:
      return PutValue(out, cuda_api::kAccessReadWrite);
    case cuda_api::kPointerMemoryPool:
      return PutValue(out, reinterpret_cast<cuda_api::MemoryPool>(range.pool));
  }
  return false;
}

// Bytes of an attribute's value.
size_t SizeOf(PointerAttribute attribute) {
  switch (attribute) {
    case cuda_api::kPointerMemoryType:
    case cuda_api::kPointerSyncMemops:
    case cuda_api::kPointerIsManaged:
    case cuda_api::kPointerDeviceOrdinal:
    case cuda_api::kPointerIsLegacyIpcCapable:
    case cuda_api::kPointerMapped:
    case cuda_api::kPointerIsRdmaCapable:
    case cuda_api::kPointerAccessFlags:
      return sizeof(int);
    default:
      return sizeof(uint64_t);
  }
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::PointerAttribute;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::Range;
using kgpu::simcuda::SystemCall;

KGPU_CUDA cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer pointer) {
  const SystemCall call("cuPointerGetAttribute");
  const Range* range = kgpu::simcuda::FindRange(pointer);
  const Result checked = call.Check(value != nullptr && range != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  return kgpu::simcuda::Put(*range, attribute, pointer, value) ? kSuccess : kInvalidValue;
}

// Unlike the function for one attribute, it has no error for memory that CUDA does not know.
KGPU_CUDA cuPointerGetAttributes(unsigned count, PointerAttribute* attributes, void** values,
                                 DevicePointer pointer) {
  const SystemCall call("cuPointerGetAttributes");
  const Range* range = kgpu::simcuda::FindRange(pointer);
  const Result checked = call.Check(count != 0 && attributes != nullptr && values != nullptr);
  for (unsigned i = 0; checked == kSuccess && i < count; ++i) {
    if (range == nullptr || !kgpu::simcuda::Put(*range, attributes[i], pointer, values[i])) {
      memset(values[i], 0, kgpu::simcuda::SizeOf(attributes[i]));
    }
  }
  return checked;
}

KGPU_CUDA cuMemGetAddressRange_v2(DevicePointer* base, size_t* size, DevicePointer pointer) {
  const ContextCall call("cuMemGetAddressRange");
  const Result checked = call.Check(true);
  const Range* range = kgpu::simcuda::FindRange(pointer);
  if (checked != kSuccess || range == nullptr) {
    return checked != kSuccess ? checked : kgpu::cuda_api::kNotFound;
  }
  if (base != nullptr) {
    *base = range->start;
  }
  if (size != nullptr) {
    *size = range->size;
  }
  return kSuccess;
}
