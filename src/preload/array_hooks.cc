// Arrays and mipmapped arrays: textures. How many bytes one takes is the driver's secret; we count
// its elements, in rows of 64 bytes.
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

constexpr uint64_t kRowStep = 64;  // bytes
constexpr unsigned kMaxLevels = 32;

// Formats that we do not know, compressed ones among them, have at most this much.
constexpr uint64_t kMaxChannelBytes = 4;

uint64_t ChannelBytes(cu::ArrayFormat format) {
  switch (format) {
    case cu::kFormatUint8:
    case cu::kFormatInt8:
      return 1;
    case cu::kFormatUint16:
    case cu::kFormatInt16:
    case cu::kFormatHalf:
      return 2;
    default:
      return kMaxChannelBytes;
  }
}

struct Extent {
  uint64_t width;
  uint64_t height;
  uint64_t depth;
};

uint64_t ArrayBytes(const Extent& extent, cu::ArrayFormat format, unsigned channels) {
  const uint64_t element = Times(ChannelBytes(format), channels == 0 ? 1 : channels);
  const uint64_t row = RoundUp(Times(extent.width, element), kRowStep);
  const uint64_t rows =
      Times(extent.height == 0 ? 1 : extent.height, extent.depth == 0 ? 1 : extent.depth);
  return Times(row, rows);
}

bool HasMemory(unsigned flags) {
  return (flags & (cu::kArraySparse | cu::kArrayDeferredMapping)) == 0;
}

template <typename Descriptor>
uint64_t BytesOf(const Descriptor* descriptor) {
  if (descriptor == nullptr) {
    return 0;
  }
  if constexpr (requires { descriptor->depth; }) {
    const Extent extent{descriptor->width, descriptor->height, descriptor->depth};
    return HasMemory(descriptor->flags)
               ? ArrayBytes(extent, descriptor->format, descriptor->channels)
               : 0;
  } else {
    return ArrayBytes({descriptor->width, descriptor->height, 1}, descriptor->format,
                      descriptor->channels);
  }
}

// Layers, unlike the depth of a volume, do not get fewer from level to level.
uint64_t MipmapBytes(const cu::Array3dDescriptor* descriptor, unsigned levels) {
  if (descriptor == nullptr || !HasMemory(descriptor->flags)) {
    return 0;
  }
  const bool has_layers = (descriptor->flags & (cu::kArrayLayered | cu::kArrayCubemap)) != 0;
  Extent extent{descriptor->width, descriptor->height, descriptor->depth};
  uint64_t sum = 0;
  for (unsigned level = 0; level < levels && level < kMaxLevels; ++level) {
    sum = Plus(sum, ArrayBytes(extent, descriptor->format, descriptor->channels));
    extent.width = extent.width > 1 ? extent.width / 2 : 1;
    extent.height = extent.height > 1 ? extent.height / 2 : extent.height;
    extent.depth = !has_layers && extent.depth > 1 ? extent.depth / 2 : extent.depth;
  }
  return sum;
}

template <typename Handle, typename Call>
Result CreateArray(Handle* array, uint64_t bytes, Call&& call) {
  return Allocate(CurrentAccount(), Kind::kArray, bytes, CurrentContext(), [&](uint64_t* key) {
    const Result result = call();
    *key = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*array) : 0;
    return result;
  });
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuArrayCreate(cu::Array* array, const cu::ArrayDescriptorV1* descriptor) {
  return CreateArray(array, BytesOf(descriptor), [&] {
    return KGPU_CALL_REAL(ArrayCreateV1Fn, cuArrayCreate, array, descriptor);
  });
}
KGPU_STAND_IN cuArrayCreate_v2(cu::Array* array, const cu::ArrayDescriptor* descriptor) {
  return CreateArray(array, BytesOf(descriptor), [&] {
    return KGPU_CALL_REAL(ArrayCreateFn, cuArrayCreate_v2, array, descriptor);
  });
}
KGPU_STAND_IN cuArray3DCreate(cu::Array* array, const cu::Array3dDescriptorV1* descriptor) {
  return CreateArray(array, BytesOf(descriptor), [&] {
    return KGPU_CALL_REAL(Array3dCreateV1Fn, cuArray3DCreate, array, descriptor);
  });
}
KGPU_STAND_IN cuArray3DCreate_v2(cu::Array* array, const cu::Array3dDescriptor* descriptor) {
  return CreateArray(array, BytesOf(descriptor), [&] {
    return KGPU_CALL_REAL(Array3dCreateFn, cuArray3DCreate_v2, array, descriptor);
  });
}
KGPU_STAND_IN cuArrayDestroy(cu::Array array) {
  return Free(Kind::kArray, reinterpret_cast<uint64_t>(array),
              [&] { return KGPU_CALL_REAL(ArrayDestroyFn, cuArrayDestroy, array); });
}
KGPU_STAND_IN cuMipmappedArrayCreate(cu::MipmappedArray* array,
                                     const cu::Array3dDescriptor* descriptor, unsigned levels) {
  return CreateArray(array, MipmapBytes(descriptor, levels), [&] {
    return KGPU_CALL_REAL(MipmappedArrayCreateFn, cuMipmappedArrayCreate, array, descriptor,
                          levels);
  });
}
KGPU_STAND_IN cuMipmappedArrayDestroy(cu::MipmappedArray array) {
  return Free(Kind::kArray, reinterpret_cast<uint64_t>(array), [&] {
    return KGPU_CALL_REAL(MipmappedArrayDestroyFn, cuMipmappedArrayDestroy, array);
  });
}
