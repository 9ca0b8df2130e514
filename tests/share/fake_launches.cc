// Launches of fake_cuda.cc: each counts. A stream of the number 7 is being captured; in one of the
// number 9 they take 20 ms, from number 100 on they end with fake_finish. In one of the number 8,
// the driver takes 20 ms to return.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "src/gpu/cuda_abi/abi.h"

#define FAKE extern "C" __attribute__((visibility("default"))) Result

namespace cu = kgpu::cuda_api;
using cu::Result;

namespace {

constexpr uintptr_t kCapturing = 7;
constexpr uintptr_t kSlow = 8;
constexpr uintptr_t kBusy = 9;
constexpr std::chrono::milliseconds kBusyTime{20};

// What fake_finish ends; they never end before.
constexpr uintptr_t kHeld = 100;

constexpr uintptr_t kStreams = 1024;

struct Launches {
  uint64_t count = 0;
  uint64_t events = 0;  // that were made
  std::mutex mutex;     // guards what follows
  std::condition_variable changed;
  uint64_t asked = 0;                          // how often an event was not ready
  bool is_finished = false;                    // those that are held
  std::array<uint64_t, kStreams> by_stream{};  // launches
};

Launches& All() {
  static Launches launches;
  return launches;
}

uint64_t& LaunchedIn(cu::Stream stream) {
  return All().by_stream.at(reinterpret_cast<uintptr_t>(stream) % kStreams);
}

Result Count(cu::Stream stream = nullptr) {
  __atomic_fetch_add(&LaunchedIn(stream), 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&All().count, 1, __ATOMIC_RELAXED);
  return cu::kSuccess;
}

struct FakeEvent {
  uintptr_t stream = 0;
  uint64_t behind = 0;  // launches
  std::chrono::steady_clock::time_point recorded{};
};

// With the mutex held.
bool IsReady(const FakeEvent& event) {
  if (event.behind == 0) {
    return true;
  }
  if (event.stream == kBusy) {
    return std::chrono::steady_clock::now() - event.recorded >= kBusyTime;
  }
  return event.stream < kHeld || All().is_finished;
}

}  // namespace

FAKE cuLaunch(cu::Function) {
  return Count();
}
FAKE cuLaunchGrid(cu::Function, int, int) {
  return Count();
}
FAKE cuLaunchGridAsync(cu::Function, int, int, cu::Stream) {
  return Count();
}
FAKE cuLaunchKernel(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, cu::Stream stream, void**, void**) {
  if (reinterpret_cast<uintptr_t>(stream) == kSlow) {
    std::unique_lock lock(All().mutex);
    (void)All().changed.wait_for(lock, kBusyTime, [] { return false; });
  }
  return Count(stream);
}
FAKE cuLaunchKernel_ptsz(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, cu::Stream, void**, void**) {
  return Count();
}
FAKE cuLaunchKernelEx(const cu::LaunchConfig*, cu::Function, void**, void**) {
  return Count();
}
FAKE cuLaunchKernelEx_ptsz(const cu::LaunchConfig*, cu::Function, void**, void**) {
  return Count();
}
FAKE cuLaunchCooperativeKernel(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, cu::Stream, void**) {
  return Count();
}
FAKE cuLaunchCooperativeKernel_ptsz(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, cu::Stream, void**) {
  return Count();
}
FAKE cuLaunchCooperativeKernelMultiDevice(cu::LaunchParams*, unsigned, unsigned) {
  return Count();
}
FAKE cuGraphLaunch_ptsz(cu::GraphExec, cu::Stream) {
  return Count();
}
FAKE cuStreamIsCapturing(cu::Stream stream, cu::CaptureStatus* status) {
  *status =
      reinterpret_cast<uintptr_t>(stream) == kCapturing ? cu::kCaptureActive : cu::kCaptureNone;
  return cu::kSuccess;
}
FAKE cuEventCreate(cu::Event* event, unsigned) {
  __atomic_fetch_add(&All().events, 1, __ATOMIC_RELAXED);
  *event = reinterpret_cast<cu::Event>(new FakeEvent);
  return cu::kSuccess;
}
FAKE cuEventRecord(cu::Event event, cu::Stream stream) {
  auto* fake = reinterpret_cast<FakeEvent*>(event);
  *fake = {.stream = reinterpret_cast<uintptr_t>(stream),
           .behind = LaunchedIn(stream),
           .recorded = std::chrono::steady_clock::now()};
  return cu::kSuccess;
}
FAKE cuEventQuery(cu::Event event) {
  const std::lock_guard guard(All().mutex);
  if (IsReady(*reinterpret_cast<FakeEvent*>(event))) {
    return cu::kSuccess;
  }
  ++All().asked;
  All().changed.notify_all();
  return cu::kNotReady;
}
FAKE cuEventSynchronize(cu::Event event) {
  const FakeEvent& fake = *reinterpret_cast<FakeEvent*>(event);
  std::unique_lock lock(All().mutex);
  if (fake.stream == kBusy) {
    (void)All().changed.wait_until(lock, fake.recorded + kBusyTime, [&] { return IsReady(fake); });
  } else {
    All().changed.wait(lock, [&] { return IsReady(fake); });
  }
  return cu::kSuccess;
}
FAKE cuThreadExchangeStreamCaptureMode(cu::CaptureMode* mode) {
  thread_local cu::CaptureMode now = cu::kCaptureGlobal;
  const cu::CaptureMode before = now;
  now = *mode;
  *mode = before;
  return cu::kSuccess;
}
// What the test asks: how many there were.
extern "C" __attribute__((visibility("default"))) uint64_t fake_launch_count() {
  return __atomic_load_n(&All().count, __ATOMIC_RELAXED);
}
extern "C" __attribute__((visibility("default"))) uint64_t fake_event_count() {
  return __atomic_load_n(&All().events, __ATOMIC_RELAXED);
}
// Until events have been found not ready so often, or for four seconds.
extern "C" __attribute__((visibility("default"))) void fake_await_not_ready(uint64_t times) {
  std::unique_lock lock(All().mutex);
  (void)All().changed.wait_for(lock, std::chrono::seconds(4),
                               [times] { return All().asked >= times; });
}
extern "C" __attribute__((visibility("default"))) void fake_finish() {
  const std::lock_guard guard(All().mutex);
  All().is_finished = true;
  All().changed.notify_all();
}
