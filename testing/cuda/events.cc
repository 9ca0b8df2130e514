// Streams and events. All work is done when a call returns: a stream is a name, an event a moment.
#include "testing/cuda/events.h"

#include <cstdlib>
#include <cstring>

#include "testing/cuda/capture.h"
#include "testing/cuda/library.h"

using kgpu::cuda_api::Context;
using kgpu::cuda_api::Event;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kOutOfMemory;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;

namespace {

using kgpu::simcuda::ContextObject;

struct StreamObject {
  ContextObject* context;
};

struct EventObject {
  uint64_t moment;  // nanoseconds since boot; 0: not recorded
  uint32_t flags;
};

constexpr uint64_t kEventMagic = 0x30746e7675706b67;  // "gkpuvnt0"

Result Enter(const char* name) {
  ContextObject* context = nullptr;
  return kgpu::simcuda::EnterContext(name, &context);
}

// Waits for all work, which is done: pools may give back what they keep.
Result Wait(const char* name, Stream stream = nullptr) {
  const kgpu::simcuda::ContextCall call(name);
  Result checked = call.Check(true);
  checked = checked == kSuccess ? kgpu::simcuda::RefuseCapture(stream) : checked;
  if (checked == kSuccess) {
    kgpu::simcuda::SettlePools(call->device);
  }
  return checked;
}

Result MakeStream(const char* name, Stream* stream) {
  ContextObject* context = nullptr;
  const Result entered = kgpu::simcuda::EnterContext(name, &context);
  if (entered != kSuccess || stream == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  // Memory of its own, so that a leak checker sees those that are left behind.
  auto* made = static_cast<StreamObject*>(calloc(1, sizeof(StreamObject)));
  if (made != nullptr) {
    made->context = context;
  }
  *stream = reinterpret_cast<Stream>(made);
  return made == nullptr ? kOutOfMemory : kSuccess;
}

// The streams that nobody creates are none to destroy.
bool IsBuiltIn(Stream stream) {
  return reinterpret_cast<uintptr_t>(stream) <= kgpu::cuda_api::kStreamPerThread;
}

EventObject& ObjectOf(Event event) {
  return *reinterpret_cast<EventObject*>(event);
}

}  // namespace

namespace kgpu::simcuda {

ContextObject* ContextOfStream(Stream stream, ContextObject* current) {
  return IsBuiltIn(stream) ? current : reinterpret_cast<StreamObject*>(stream)->context;
}

bool WriteEventHandle(Event event, cuda_api::IpcEventHandle* handle) {
  memset(handle, 0, sizeof(*handle));
  memcpy(handle->bytes, &kEventMagic, sizeof(kEventMagic));
  return (ObjectOf(event).flags & cuda_api::kEventInterprocess) != 0;
}

Result OpenEventHandle(const cuda_api::IpcEventHandle& handle, Event* event) {
  if (memcmp(handle.bytes, &kEventMagic, sizeof(kEventMagic)) != 0) {
    return kInvalidHandle;
  }
  auto* made = static_cast<EventObject*>(calloc(1, sizeof(EventObject)));
  if (made == nullptr) {
    return kOutOfMemory;
  }
  *made = {.moment = sim::NowBootNs(), .flags = cuda_api::kEventInterprocess};
  *event = reinterpret_cast<Event>(made);
  return kSuccess;
}

}  // namespace kgpu::simcuda

KGPU_CUDA cuStreamCreate(Stream* stream, unsigned) {
  return MakeStream("cuStreamCreate", stream);
}
KGPU_CUDA cuStreamCreateWithPriority(Stream* stream, unsigned, int) {
  return MakeStream("cuStreamCreateWithPriority", stream);
}
KGPU_CUDA cuStreamGetCtx(Stream stream, Context* context) {
  ContextObject* current = kgpu::simcuda::CurrentContext();
  ContextObject* found = kgpu::simcuda::ContextOfStream(stream, current);
  if (found == nullptr || context == nullptr) {
    return found == nullptr ? kgpu::cuda_api::kInvalidContext : kInvalidValue;
  }
  *context = reinterpret_cast<Context>(found);
  return kSuccess;
}
KGPU_CUDA cuStreamGetCtx_ptsz(Stream, Context*) KGPU_CUDA_ALIAS(cuStreamGetCtx);
KGPU_CUDA cuStreamSynchronize(Stream stream) {
  return Wait("cuStreamSynchronize", stream);
}
KGPU_CUDA cuStreamSynchronize_ptsz(Stream) KGPU_CUDA_ALIAS(cuStreamSynchronize);
KGPU_CUDA cuStreamQuery(Stream) {
  return Enter("cuStreamQuery");
}
KGPU_CUDA cuStreamQuery_ptsz(Stream) KGPU_CUDA_ALIAS(cuStreamQuery);
KGPU_CUDA cuStreamWaitEvent(Stream, Event event, unsigned) {
  return event == nullptr ? kInvalidHandle : Enter("cuStreamWaitEvent");
}
KGPU_CUDA cuStreamWaitEvent_ptsz(Stream, Event, unsigned) KGPU_CUDA_ALIAS(cuStreamWaitEvent);
KGPU_CUDA cuStreamDestroy_v2(Stream stream) {
  if (IsBuiltIn(stream)) {
    return kInvalidHandle;
  }
  free(stream);
  return kSuccess;
}
KGPU_CUDA cuStreamDestroy(Stream) KGPU_CUDA_ALIAS(cuStreamDestroy_v2);

KGPU_CUDA cuEventCreate(Event* event, unsigned flags) {
  const bool is_interprocess = (flags & kgpu::cuda_api::kEventInterprocess) != 0;
  const bool is_untimed = (flags & kgpu::cuda_api::kEventDisableTiming) != 0;
  const Result entered = Enter("cuEventCreate");
  if (entered != kSuccess || event == nullptr || (is_interprocess && !is_untimed)) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  auto* made = static_cast<EventObject*>(calloc(1, sizeof(EventObject)));
  if (made == nullptr) {
    return kOutOfMemory;
  }
  made->flags = flags;
  *event = reinterpret_cast<Event>(made);
  return kSuccess;
}
KGPU_CUDA cuEventRecord(Event event, Stream) {
  const Result entered = Enter("cuEventRecord");
  if (entered != kSuccess || event == nullptr) {
    return entered != kSuccess ? entered : kInvalidHandle;
  }
  ObjectOf(event).moment = kgpu::sim::NowBootNs();
  return kSuccess;
}
KGPU_CUDA cuEventRecord_ptsz(Event, Stream) KGPU_CUDA_ALIAS(cuEventRecord);
KGPU_CUDA cuEventQuery(Event event) {
  return event == nullptr ? kInvalidHandle : Enter("cuEventQuery");
}
KGPU_CUDA cuEventSynchronize(Event event) {
  return event == nullptr ? kInvalidHandle : Wait("cuEventSynchronize");
}
KGPU_CUDA cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (milliseconds == nullptr || start == nullptr || end == nullptr) {
    return kInvalidValue;
  }
  const uint64_t from = ObjectOf(start).moment;
  const uint64_t to = ObjectOf(end).moment;
  if (from == 0 || to == 0) {
    return kInvalidHandle;
  }
  *milliseconds = static_cast<float>(static_cast<int64_t>(to - from)) / 1e6F;
  return kSuccess;
}
KGPU_CUDA cuEventDestroy_v2(Event event) {
  free(event);
  return kSuccess;
}
KGPU_CUDA cuEventDestroy(Event) KGPU_CUDA_ALIAS(cuEventDestroy_v2);
