// Arrays: memory without an address that the program knows, in up to three dimensions, layers and
// levels.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {

// Of a mipmapped array, too: `descriptor` is that of its first level.
struct ArrayObject {
  ArrayObject* next;
  ContextObject* context;
  cuda_api::Array3dDescriptor descriptor;
  uint32_t levels;        // 0: an array without levels
  ArrayObject* level_of;  // a level has no memory of its own
  Block block;            // bytes null: sparse, or mapped later
  uint64_t offset;        // of a level in the memory of what it is of
  uint64_t bytes;
};

namespace {

using cuda_api::Array3dDescriptor;
using cuda_api::ArrayMemoryRequirements;
using cuda_api::kInvalidHandle;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

constexpr uint64_t kArrayAlignment = 64 << 10;
constexpr uint64_t kMostElements = 131072;  // in one dimension

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit ArrayObject* arrays = nullptr;

// Bytes of one channel; 0: an unknown format.
uint64_t ChannelBytes(cuda_api::ArrayFormat format) {
  switch (format) {
    case cuda_api::kFormatUint8:
    case cuda_api::kFormatInt8:
      return 1;
    case cuda_api::kFormatUint16:
    case cuda_api::kFormatInt16:
    case cuda_api::kFormatHalf:
      return 2;
    case cuda_api::kFormatUint32:
    case cuda_api::kFormatInt32:
    case cuda_api::kFormatFloat:
      return 4;
  }
  return 0;
}

bool IsArrayGood(const Array3dDescriptor& descriptor) {
  const bool has_channels =
      descriptor.channels == 1 || descriptor.channels == 2 || descriptor.channels == 4;
  return has_channels && ChannelBytes(descriptor.format) > 0 && descriptor.width > 0 &&
         descriptor.width <= kMostElements && descriptor.height <= kMostElements &&
         descriptor.depth <= kMostElements;
}

uint64_t AtLeastOne(uint64_t value) {
  return value == 0 ? 1 : value;
}

uint64_t BytesOf(const Array3dDescriptor& descriptor) {
  return descriptor.width * AtLeastOne(descriptor.height) * AtLeastOne(descriptor.depth) *
         descriptor.channels * ChannelBytes(descriptor.format);
}

// A layer stays a layer: only the sizes of a picture shrink.
Array3dDescriptor LevelOf(const Array3dDescriptor& first, uint32_t level) {
  const bool is_layered = (first.flags & (cuda_api::kArrayLayered | cuda_api::kArrayCubemap)) != 0;
  const auto shrink = [level](uint64_t size) { return size == 0 ? 0 : AtLeastOne(size >> level); };
  Array3dDescriptor result = first;
  result.width = shrink(first.width);
  result.height = shrink(first.height);
  result.depth = is_layered ? first.depth : shrink(first.depth);
  return result;
}

uint64_t LevelOffset(const Array3dDescriptor& first, uint32_t level) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < level; ++i) {
    offset += RoundUp(BytesOf(LevelOf(first, i)), kUnitBytes);
  }
  return offset;
}

// With the lock held, here and below.
ArrayObject* FindArray(const void* handle, bool has_levels) {
  ArrayObject* at = arrays;
  while (at != nullptr && (at != handle || (at->levels > 0) != has_levels)) {
    at = at->next;
  }
  return at;
}

Result MakeArray(ContextObject* context, const Array3dDescriptor& descriptor, uint32_t levels,
                 ArrayObject** made) {
  auto* array = static_cast<ArrayObject*>(calloc(1, sizeof(ArrayObject)));
  if (array == nullptr) {
    return kOutOfMemory;
  }
  array->context = context;
  array->descriptor = descriptor;
  array->levels = levels;
  array->bytes = levels == 0 ? BytesOf(descriptor) : LevelOffset(descriptor, levels);
  const bool has_memory =
      (descriptor.flags & (cuda_api::kArraySparse | cuda_api::kArrayDeferredMapping)) == 0;
  const Result placed =
      has_memory ? Place(&context->heap, context->device, RoundUp(array->bytes, kArrayAlignment),
                         Placing::kCharged, &array->block)
                 : kSuccess;
  if (placed != kSuccess) {
    free(array);
    return placed;
  }
  array->next = arrays;
  arrays = array;
  *made = array;
  return kSuccess;
}

void DestroyArray(ArrayObject* array) {
  ArrayObject** at = &arrays;
  while (*at != array) {
    at = &(*at)->next;
  }
  *at = array->next;
  if (array->block.bytes != nullptr) {
    Remove(&array->context->heap, array->context->device, array->block);
  }
  free(array);
}

Result CreateArray(const char* name, cuda_api::Array* handle, const Array3dDescriptor* descriptor) {
  const ContextCall call(name);
  const Result checked =
      call.Check(handle != nullptr && descriptor != nullptr && IsArrayGood(*descriptor));
  ArrayObject* made = nullptr;
  const Result result =
      checked == kSuccess ? MakeArray(call.context(), *descriptor, 0, &made) : checked;
  if (result == kSuccess) {
    *handle = reinterpret_cast<cuda_api::Array>(made);
  }
  return result;
}

Result DestroyHandle(const char* name, const void* handle, bool has_levels) {
  const ContextCall call(name);
  if (const Result checked = call.Check(true); checked != kSuccess) {
    return checked;
  }
  ArrayObject* array = FindArray(handle, has_levels);
  if (array == nullptr || array->level_of != nullptr) {
    return array == nullptr ? kInvalidHandle : cuda_api::kArrayIsMapped;
  }
  for (ArrayObject* at = arrays; at != nullptr;) {
    ArrayObject* next = at->next;
    if (at->level_of == array) {
      DestroyArray(at);
    }
    at = next;
  }
  DestroyArray(array);
  return kSuccess;
}

Result GetRequirements(const char* name, ArrayMemoryRequirements* requirements, const void* handle,
                       bool has_levels) {
  const SystemCall call(name);
  const ArrayObject* array = FindArray(handle, has_levels);
  const Result checked =
      call.Check(requirements != nullptr && array != nullptr &&
                 (array->descriptor.flags & cuda_api::kArrayDeferredMapping) != 0);
  if (checked == kSuccess) {
    *requirements = {.size = RoundUp(array->bytes, kArrayAlignment),
                     .alignment = kArrayAlignment,
                     .reserved = {}};
  }
  return checked;
}

Result GetDescriptor(const char* name, cuda_api::Array handle, Array3dDescriptor* descriptor) {
  const ContextCall call(name);
  const Result checked = call.Check(descriptor != nullptr);
  const ArrayObject* array = FindArray(handle, false);
  if (checked != kSuccess || array == nullptr) {
    return checked != kSuccess ? checked : kInvalidHandle;
  }
  *descriptor = array->descriptor;
  return kSuccess;
}

// `size` bytes from `offset` on of an array with one row; null with the reason in `result`.
uint8_t* EnterArray(const ContextCall& call, cuda_api::Array handle, uint64_t offset, size_t size,
                    const void* host, Result* result) {
  const ArrayObject* array = FindArray(handle, false);
  *result = call.Check(host != nullptr && array != nullptr);
  if (*result != kSuccess) {
    return nullptr;
  }
  const ArrayObject* owner = array->level_of != nullptr ? array->level_of : array;
  const bool fits = offset <= array->bytes && size <= array->bytes - offset;
  *result = fits && owner->block.bytes != nullptr ? kSuccess : kInvalidValue;
  return *result == kSuccess ? owner->block.bytes + array->offset + offset : nullptr;
}

Array3dDescriptor Widen(const cuda_api::ArrayDescriptor& flat) {
  return {.width = flat.width,
          .height = flat.height,
          .depth = 0,
          .format = flat.format,
          .channels = flat.channels,
          .flags = 0};
}

}  // namespace

void ReleaseArrays(const ContextObject* context) {
  for (ArrayObject* at = arrays; at != nullptr;) {
    ArrayObject* next = at->next;
    if (at->context == context) {
      DestroyArray(at);
    }
    at = next;
  }
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::Array;
using kgpu::cuda_api::Array3dDescriptor;
using kgpu::cuda_api::Array3dDescriptorV1;
using kgpu::cuda_api::ArrayDescriptor;
using kgpu::cuda_api::ArrayDescriptorV1;
using kgpu::cuda_api::ArrayMemoryRequirements;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::MipmappedArray;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ArrayObject;
using kgpu::simcuda::ContextCall;

KGPU_CUDA cuArrayCreate_v2(Array* array, const ArrayDescriptor* descriptor) {
  if (descriptor == nullptr) {
    return kInvalidValue;
  }
  const Array3dDescriptor wide = kgpu::simcuda::Widen(*descriptor);
  return kgpu::simcuda::CreateArray("cuArrayCreate", array, &wide);
}
KGPU_CUDA cuArrayCreate(Array* array, const ArrayDescriptorV1* descriptor) {
  if (descriptor == nullptr) {
    return kInvalidValue;
  }
  const Array3dDescriptor wide = kgpu::simcuda::Widen({.width = descriptor->width,
                                                       .height = descriptor->height,
                                                       .format = descriptor->format,
                                                       .channels = descriptor->channels});
  return kgpu::simcuda::CreateArray("cuArrayCreate", array, &wide);
}
KGPU_CUDA cuArray3DCreate_v2(Array* array, const Array3dDescriptor* descriptor) {
  return kgpu::simcuda::CreateArray("cuArray3DCreate", array, descriptor);
}
KGPU_CUDA cuArray3DCreate(Array* array, const Array3dDescriptorV1* descriptor) {
  if (descriptor == nullptr) {
    return kInvalidValue;
  }
  const Array3dDescriptor wide = {.width = descriptor->width,
                                  .height = descriptor->height,
                                  .depth = descriptor->depth,
                                  .format = descriptor->format,
                                  .channels = descriptor->channels,
                                  .flags = descriptor->flags};
  return kgpu::simcuda::CreateArray("cuArray3DCreate", array, &wide);
}
KGPU_CUDA cuArrayDestroy(Array array) {
  return kgpu::simcuda::DestroyHandle("cuArrayDestroy", array, false);
}

KGPU_CUDA cuArrayGetDescriptor_v2(ArrayDescriptor* descriptor, Array array) {
  Array3dDescriptor wide{};
  const Result result = descriptor == nullptr
                            ? kInvalidValue
                            : kgpu::simcuda::GetDescriptor("cuArrayGetDescriptor", array, &wide);
  if (result == kSuccess) {
    *descriptor = {.width = wide.width,
                   .height = wide.height,
                   .format = wide.format,
                   .channels = wide.channels};
  }
  return result;
}
KGPU_CUDA cuArray3DGetDescriptor_v2(Array3dDescriptor* descriptor, Array array) {
  return kgpu::simcuda::GetDescriptor("cuArray3DGetDescriptor", array, descriptor);
}

KGPU_CUDA cuArrayGetMemoryRequirements(ArrayMemoryRequirements* requirements, Array array,
                                       kgpu::cuda_api::Device) {
  return kgpu::simcuda::GetRequirements("cuArrayGetMemoryRequirements", requirements, array, false);
}
KGPU_CUDA cuMipmappedArrayGetMemoryRequirements(ArrayMemoryRequirements* requirements,
                                                MipmappedArray array, kgpu::cuda_api::Device) {
  return kgpu::simcuda::GetRequirements("cuMipmappedArrayGetMemoryRequirements", requirements,
                                        array, true);
}

KGPU_CUDA cuMipmappedArrayCreate(MipmappedArray* handle, const Array3dDescriptor* descriptor,
                                 unsigned levels) {
  constexpr unsigned kMostLevels = 18;  // of kMostElements
  const ContextCall call("cuMipmappedArrayCreate");
  const Result checked = call.Check(handle != nullptr && descriptor != nullptr && levels > 0 &&
                                    kgpu::simcuda::IsArrayGood(*descriptor));
  const unsigned kept = levels < kMostLevels ? levels : kMostLevels;
  ArrayObject* made = nullptr;
  const Result result = checked == kSuccess
                            ? kgpu::simcuda::MakeArray(call.context(), *descriptor, kept, &made)
                            : checked;
  if (result == kSuccess) {
    *handle = reinterpret_cast<MipmappedArray>(made);
  }
  return result;
}
KGPU_CUDA cuMipmappedArrayDestroy(MipmappedArray array) {
  return kgpu::simcuda::DestroyHandle("cuMipmappedArrayDestroy", array, true);
}

KGPU_CUDA cuMipmappedArrayGetLevel(Array* level_array, MipmappedArray handle, unsigned level) {
  const ContextCall call("cuMipmappedArrayGetLevel");
  ArrayObject* owner = kgpu::simcuda::FindArray(handle, true);
  const Result checked =
      call.Check(level_array != nullptr && owner != nullptr && level < owner->levels);
  if (checked != kSuccess) {
    return checked;
  }
  const uint64_t offset = kgpu::simcuda::LevelOffset(owner->descriptor, level);
  // The same level is the same array every time.
  for (ArrayObject* at = kgpu::simcuda::arrays; at != nullptr; at = at->next) {
    if (at->level_of == owner && at->offset == offset) {
      *level_array = reinterpret_cast<Array>(at);
      return kSuccess;
    }
  }
  auto* made = static_cast<ArrayObject*>(calloc(1, sizeof(ArrayObject)));
  if (made == nullptr) {
    return kgpu::cuda_api::kOutOfMemory;
  }
  made->context = owner->context;
  made->descriptor = kgpu::simcuda::LevelOf(owner->descriptor, level);
  made->level_of = owner;
  made->offset = offset;
  made->bytes = kgpu::simcuda::BytesOf(made->descriptor);
  made->next = kgpu::simcuda::arrays;
  kgpu::simcuda::arrays = made;
  *level_array = reinterpret_cast<Array>(made);
  return kSuccess;
}

KGPU_CUDA cuMemcpyHtoA_v2(Array to, size_t offset, const void* from, size_t size) {
  const ContextCall call("cuMemcpyHtoA");
  Result result = kSuccess;
  uint8_t* bytes = kgpu::simcuda::EnterArray(call, to, offset, size, from, &result);
  if (bytes != nullptr) {
    memcpy(bytes, from, size);
  }
  return result;
}
KGPU_CUDA cuMemcpyAtoH_v2(void* to, Array from, size_t offset, size_t size) {
  const ContextCall call("cuMemcpyAtoH");
  Result result = kSuccess;
  const uint8_t* bytes = kgpu::simcuda::EnterArray(call, from, offset, size, to, &result);
  if (bytes != nullptr) {
    memcpy(to, bytes, size);
  }
  return result;
}
