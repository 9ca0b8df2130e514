// Streams and events. All work is done when a call returns: a stream is a name, an event a moment.
#include <cstdlib>

#include "testing/cuda/library.h"

using kgpu::cuda_api::Event;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kOutOfMemory;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;

namespace {

Result Enter(const char* name) {
  kgpu::simcuda::ContextObject* context = nullptr;
  return kgpu::simcuda::EnterContext(name, &context);
}

// A handle is memory of its own, so that a leak checker sees those that are left behind.
template <typename Handle>
Result Make(const char* name, Handle* handle) {
  const Result entered = Enter(name);
  if (entered != kSuccess || handle == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  *handle = static_cast<Handle>(calloc(1, sizeof(uint64_t)));
  return *handle == nullptr ? kOutOfMemory : kSuccess;
}

uint64_t& MomentOf(Event event) {
  return *reinterpret_cast<uint64_t*>(event);
}

}  // namespace

KGPU_CUDA cuStreamCreate(Stream* stream, unsigned) {
  return Make("cuStreamCreate", stream);
}
KGPU_CUDA cuStreamSynchronize(Stream) {
  return Enter("cuStreamSynchronize");
}
KGPU_CUDA cuStreamDestroy_v2(Stream stream) {
  free(stream);
  return kSuccess;
}

KGPU_CUDA cuEventCreate(Event* event, unsigned) {
  return Make("cuEventCreate", event);
}
KGPU_CUDA cuEventRecord(Event event, Stream) {
  const Result entered = Enter("cuEventRecord");
  if (entered != kSuccess || event == nullptr) {
    return entered != kSuccess ? entered : kInvalidHandle;
  }
  MomentOf(event) = kgpu::sim::NowBootNs();
  return kSuccess;
}
KGPU_CUDA cuEventSynchronize(Event event) {
  return event == nullptr ? kInvalidHandle : Enter("cuEventSynchronize");
}
KGPU_CUDA cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (milliseconds == nullptr || start == nullptr || end == nullptr) {
    return kInvalidValue;
  }
  if (MomentOf(start) == 0 || MomentOf(end) == 0) {
    return kInvalidHandle;
  }
  *milliseconds = static_cast<float>(static_cast<int64_t>(MomentOf(end) - MomentOf(start))) / 1e6F;
  return kSuccess;
}
KGPU_CUDA cuEventDestroy_v2(Event event) {
  free(event);
  return kSuccess;
}
