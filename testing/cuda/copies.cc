// Copies and fills. Streams are empty by the time a call returns, so those with a stream do the
// same as those without.
#include <cstring>

#include "testing/cuda/capture.h"
#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::DevicePointer;
using cuda_api::kInvalidValue;

// What is checked after the arguments: the stream.
Result CheckCopy(const ContextCall& call, bool are_arguments_good, cuda_api::Stream stream) {
  const Result checked = call.Check(are_arguments_good);
  return checked == kSuccess ? RefuseCapture(stream) : checked;
}

Result ToDevice(DevicePointer to, const void* from, size_t size, cuda_api::Stream stream = {}) {
  const ContextCall call("cuMemcpyHtoD");
  void* bytes = Resolve(call.context(), to, size);
  const Result checked = CheckCopy(call, bytes != nullptr && from != nullptr, stream);
  if (checked == kSuccess) {
    memcpy(bytes, from, size);
  }
  return checked;
}

Result ToHost(void* to, DevicePointer from, size_t size, cuda_api::Stream stream = {}) {
  const ContextCall call("cuMemcpyDtoH");
  const void* bytes = Resolve(call.context(), from, size);
  const Result checked = CheckCopy(call, bytes != nullptr && to != nullptr, stream);
  if (checked == kSuccess) {
    memcpy(to, bytes, size);
  }
  return checked;
}

Result WithinDevice(DevicePointer to, DevicePointer from, size_t size,
                    cuda_api::Stream stream = {}) {
  const ContextCall call("cuMemcpyDtoD");
  void* target = Resolve(call.context(), to, size);
  const void* source = Resolve(call.context(), from, size);
  const Result checked = CheckCopy(call, target != nullptr && source != nullptr, stream);
  if (checked == kSuccess) {
    memmove(target, source, size);
  }
  return checked;
}

// Addresses say by themselves what they are of: all others are the host's.
Result Anywhere(DevicePointer to, DevicePointer from, size_t size, cuda_api::Stream stream = {}) {
  const ContextCall call("cuMemcpy");
  const Result checked = CheckCopy(call, to != 0 && from != 0, stream);
  if (checked == kSuccess) {
    memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
  }
  return checked;
}

template <typename Value>
Result Fill(const char* name, DevicePointer to, Value value, size_t count,
            cuda_api::Stream stream = {}) {
  const ContextCall call(name);
  size_t size = 0;
  const bool fits = !__builtin_mul_overflow(count, sizeof(value), &size);
  auto* bytes = static_cast<uint8_t*>(fits ? Resolve(call.context(), to, size) : nullptr);
  const Result checked = CheckCopy(call, bytes != nullptr && to % sizeof(value) == 0, stream);
  if (checked != kSuccess) {
    return checked;
  }
  if (sizeof(value) == 1) {
    memset(bytes, value, count);
  }
  for (size_t at = 0; sizeof(value) > 1 && at < size; at += sizeof(value)) {
    memcpy(bytes + at, &value, sizeof(value));
  }
  return kSuccess;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;

KGPU_CUDA cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t size) {
  return kgpu::simcuda::ToDevice(to, from, size);
}
KGPU_CUDA cuMemcpyHtoD_v2_ptds(DevicePointer, const void*, size_t) KGPU_CUDA_ALIAS(cuMemcpyHtoD_v2);
KGPU_CUDA cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t size) {
  return kgpu::simcuda::ToHost(to, from, size);
}
KGPU_CUDA cuMemcpyDtoH_v2_ptds(void*, DevicePointer, size_t) KGPU_CUDA_ALIAS(cuMemcpyDtoH_v2);
KGPU_CUDA cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t size) {
  return kgpu::simcuda::WithinDevice(to, from, size);
}
KGPU_CUDA cuMemcpyDtoD_v2_ptds(DevicePointer, DevicePointer, size_t)
    KGPU_CUDA_ALIAS(cuMemcpyDtoD_v2);
KGPU_CUDA cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t size, Stream stream) {
  return kgpu::simcuda::ToDevice(to, from, size, stream);
}
KGPU_CUDA cuMemcpyHtoDAsync_v2_ptsz(DevicePointer, const void*, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemcpyHtoDAsync_v2);
KGPU_CUDA cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t size, Stream stream) {
  return kgpu::simcuda::ToHost(to, from, size, stream);
}
KGPU_CUDA cuMemcpyDtoHAsync_v2_ptsz(void*, DevicePointer, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemcpyDtoHAsync_v2);
KGPU_CUDA cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t size, Stream stream) {
  return kgpu::simcuda::WithinDevice(to, from, size, stream);
}
KGPU_CUDA cuMemcpyDtoDAsync_v2_ptsz(DevicePointer, DevicePointer, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemcpyDtoDAsync_v2);
KGPU_CUDA cuMemcpy(DevicePointer to, DevicePointer from, size_t size) {
  return kgpu::simcuda::Anywhere(to, from, size);
}
KGPU_CUDA cuMemcpy_ptds(DevicePointer, DevicePointer, size_t) KGPU_CUDA_ALIAS(cuMemcpy);
KGPU_CUDA cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t size, Stream stream) {
  return kgpu::simcuda::Anywhere(to, from, size, stream);
}
KGPU_CUDA cuMemcpyAsync_ptsz(DevicePointer, DevicePointer, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemcpyAsync);

KGPU_CUDA cuMemsetD8_v2(DevicePointer to, unsigned char value, size_t count) {
  return kgpu::simcuda::Fill("cuMemsetD8", to, value, count);
}
KGPU_CUDA cuMemsetD8_v2_ptds(DevicePointer, unsigned char, size_t) KGPU_CUDA_ALIAS(cuMemsetD8_v2);
KGPU_CUDA cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
  return kgpu::simcuda::Fill("cuMemsetD8Async", to, value, count, stream);
}
KGPU_CUDA cuMemsetD8Async_ptsz(DevicePointer, unsigned char, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemsetD8Async);
KGPU_CUDA cuMemsetD16_v2(DevicePointer to, unsigned short value, size_t count) {
  return kgpu::simcuda::Fill("cuMemsetD16", to, value, count);
}
KGPU_CUDA cuMemsetD32_v2(DevicePointer to, unsigned value, size_t count) {
  return kgpu::simcuda::Fill("cuMemsetD32", to, value, count);
}
KGPU_CUDA cuMemsetD32_v2_ptds(DevicePointer, unsigned, size_t) KGPU_CUDA_ALIAS(cuMemsetD32_v2);
KGPU_CUDA cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
  return kgpu::simcuda::Fill("cuMemsetD32Async", to, value, count, stream);
}
KGPU_CUDA cuMemsetD32Async_ptsz(DevicePointer, unsigned, size_t, Stream)
    KGPU_CUDA_ALIAS(cuMemsetD32Async);
