// What this process has launched on a device and may still run: one event of the driver's for each
// stream, recorded behind each launch. What others do in a stream, copies and waits, is no launch.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"

namespace kgpu::preload {

// Streams whose launches are told apart; further ones share the last entry.
inline constexpr uint32_t kMaxStreams = 64;

// The default streams have the same handle in each context, and one of them in each thread.
struct StreamKey {
  cuda_api::Context context;
  cuda_api::Stream stream;
  int32_t thread;  // 0: any
  bool operator==(const StreamKey&) const = default;
};

struct StreamWork {
  StreamKey key;
  cuda_api::Event event;
  bool is_pending;  // recorded, and not seen to be done
  bool is_settled;  // what was in the stream before its first launch is done
  bool is_ignored;  // did not end in time: may wait for the program itself
};

// All zero: nothing. Whoever calls what follows holds the lock of its device's gate.
struct OwnWork {
  uint32_t count;
  uint32_t launching;  // launches that have begun and are not recorded
  StreamWork streams[kMaxStreams];
};

// The entry of a stream, a new one if need be; null without one for the context.
StreamWork* FindStream(OwnWork* work, const StreamKey& key);
// Makes the entry's event; false if the driver does not.
bool MakeEvent(StreamWork* stream);
// Whether something that was recorded has not ended. Asks the driver.
bool IsRunning(OwnWork* work);
// What has not ended does not count until ForgetLaunched.
void IgnoreRunning(OwnWork* work);
// Nothing that has been launched counts, and every stream must settle.
void ForgetLaunched(OwnWork* work);
// A context goes, and its events with it.
void ForgetStreams(OwnWork* work, cuda_api::Context context);

// Without the lock. Records the event behind what is in the stream; false if that fails.
bool RecordEvent(cuda_api::Event event, cuda_api::Stream stream);
// Whether an event has not happened.
bool IsUnfinished(cuda_api::Event event);
void WaitForEvent(cuda_api::Event event);
// Whether a stream is captured: a launch there does not run; neither does one that the driver will
// refuse.
bool IsCaptured(cuda_api::Stream stream);

}  // namespace kgpu::preload
