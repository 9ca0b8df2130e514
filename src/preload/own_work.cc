#include "src/preload/own_work.h"

#include "src/gpu/cuda_abi/functions.h"
#include "src/preload/driver.h"

namespace kgpu::preload {
namespace {

namespace cu = cuda_api;

using cu::Result;
using ExchangeCaptureModeFn = Result(cu::CaptureMode* mode);
using EventRecordFn = Result(cu::Event event, cu::Stream stream);

// What we ask the driver must not end another stream's capture.
class RelaxedCapture {
 public:
  RelaxedCapture() : exchange_(Helper<ExchangeCaptureModeFn>(kThreadExchangeStreamCaptureMode)) {
    Exchange();
  }
  ~RelaxedCapture() { Exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void Exchange() {
    if (exchange_ != nullptr) {
      (void)exchange_(&mode_);
    }
  }
  ExchangeCaptureModeFn* exchange_;
  cu::CaptureMode mode_ = cu::kCaptureRelaxed;
};

// Of an event that cannot be asked, the context may be gone.
void Look(StreamWork* stream) {
  if (!stream->is_pending) {
    return;
  }
  auto* query = Helper<cu::EventSynchronizeFn>(kEventQuery);
  const Result result = query == nullptr ? cu::kNotInitialized : query(stream->event);
  stream->is_pending = result == cu::kNotReady;
  if (result != cu::kNotReady && result != cu::kSuccess) {
    stream->event = nullptr;
  }
}

}  // namespace

StreamWork* FindStream(OwnWork* work, const StreamKey& key) {
  for (uint32_t at = 0; at < work->count; ++at) {
    if (work->streams[at].key == key) {
      return &work->streams[at];
    }
  }
  if (work->count < kMaxStreams) {
    StreamWork* added = &work->streams[work->count++];
    *added = {.key = key,
              .event = nullptr,
              .is_pending = false,
              .is_settled = false,
              .is_ignored = false};
    return added;
  }
  // A stream that has nothing to do may be gone. Its event serves every stream of its context.
  for (StreamWork& stream : work->streams) {
    if (stream.key.context == key.context && !stream.is_pending && !stream.is_ignored) {
      stream.key = key;
      stream.is_settled = false;
      return &stream;
    }
  }
  StreamWork* last = &work->streams[kMaxStreams - 1];
  return last->key.context == key.context ? last : nullptr;
}

bool MakeEvent(StreamWork* stream) {
  auto* create = Helper<cu::EventCreateFn>(kEventCreate);
  if (stream->event != nullptr || create == nullptr) {
    return stream->event != nullptr;
  }
  const RelaxedCapture relaxed;
  return create(&stream->event, cu::kEventDisableTiming) == cu::kSuccess;
}

bool IsRunning(OwnWork* work) {
  const RelaxedCapture relaxed;
  bool is_running = false;
  for (uint32_t at = 0; at < work->count && !is_running; ++at) {
    Look(&work->streams[at]);
    is_running = work->streams[at].is_pending;
  }
  return is_running;
}

void IgnoreRunning(OwnWork* work) {
  const RelaxedCapture relaxed;
  for (uint32_t at = 0; at < work->count; ++at) {
    StreamWork& stream = work->streams[at];
    Look(&stream);
    stream.is_ignored |= stream.is_pending;
    stream.is_pending = false;
  }
  work->launching = 0;
}

void ForgetLaunched(OwnWork* work) {
  for (uint32_t at = 0; at < work->count; ++at) {
    StreamWork& stream = work->streams[at];
    stream.is_pending = stream.is_settled = stream.is_ignored = false;
  }
  work->launching = 0;
}

void ForgetStreams(OwnWork* work, cu::Context context) {
  uint32_t kept = 0;
  for (uint32_t at = 0; at < work->count; ++at) {
    if (work->streams[at].key.context != context) {
      work->streams[kept++] = work->streams[at];
    }
  }
  work->count = kept;
}

bool RecordEvent(cu::Event event, cu::Stream stream) {
  auto* record = Helper<EventRecordFn>(kEventRecord);
  const RelaxedCapture relaxed;
  return record != nullptr && record(event, stream) == cu::kSuccess;
}

bool IsUnfinished(cu::Event event) {
  auto* query = Helper<cu::EventSynchronizeFn>(kEventQuery);
  const RelaxedCapture relaxed;
  return query != nullptr && query(event) == cu::kNotReady;
}

void WaitForEvent(cu::Event event) {
  auto* wait = Real<cu::EventSynchronizeFn>(k_cuEventSynchronize);
  const RelaxedCapture relaxed;
  if (wait != nullptr) {
    (void)wait(event);
  }
}

bool IsCaptured(cu::Stream stream) {
  auto* ask = Helper<cu::StreamIsCapturingFn>(kStreamIsCapturing);
  cu::CaptureStatus status = cu::kCaptureNone;
  return ask != nullptr && (ask(stream, &status) != cu::kSuccess || status != cu::kCaptureNone);
}

}  // namespace kgpu::preload
