// Launches of fake_cuda.cc: each counts. A stream of the number 7 is being captured; in one of the
// number 9 an event behind launches is not ready when it is first asked, from number 100 on until
// fake_finish.
#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"

#define FAKE extern "C" __attribute__((visibility("default"))) Result

namespace cu = kgpu::cuda_api;
using cu::Result;

namespace {

constexpr uintptr_t kCapturing = 7;
constexpr uintptr_t kBusy = 9;

// What fake_finish ends; they never end before.
constexpr uintptr_t kHeld = 100;

struct Launches {
  uint64_t count = 0;
  uint64_t asked = 0;        // how often an event was not ready
  bool is_finished = false;  // those that are held
};

Launches& All() {
  static Launches launches;
  return launches;
}

constexpr uintptr_t kStreams = 1024;
// By stream: what was launched.
uint64_t launched[kStreams];

uint64_t& LaunchedIn(cu::Stream stream) {
  return launched[reinterpret_cast<uintptr_t>(stream) % kStreams];
}

Result Count(cu::Stream stream = nullptr) {
  __atomic_fetch_add(&LaunchedIn(stream), 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&All().count, 1, __ATOMIC_RELAXED);
  return cu::kSuccess;
}

struct FakeEvent {
  uintptr_t stream = 0;
  uint64_t behind = 0;  // launches
  bool is_asked = false;
};

bool IsReady(FakeEvent& event) {
  if (event.behind == 0) {
    return true;
  }
  if (event.stream == kBusy) {
    return __atomic_exchange_n(&event.is_asked, true, __ATOMIC_RELAXED);
  }
  return event.stream < kHeld || __atomic_load_n(&All().is_finished, __ATOMIC_ACQUIRE);
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
  *event = reinterpret_cast<cu::Event>(new FakeEvent);
  return cu::kSuccess;
}
FAKE cuEventRecord(cu::Event event, cu::Stream stream) {
  auto* fake = reinterpret_cast<FakeEvent*>(event);
  *fake = {.stream = reinterpret_cast<uintptr_t>(stream), .behind = LaunchedIn(stream)};
  return cu::kSuccess;
}
FAKE cuEventQuery(cu::Event event) {
  const bool is_ready = IsReady(*reinterpret_cast<FakeEvent*>(event));
  __atomic_fetch_add(&All().asked, is_ready ? 0 : 1, __ATOMIC_RELAXED);
  return is_ready ? cu::kSuccess : cu::kNotReady;
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
extern "C" __attribute__((visibility("default"))) uint64_t fake_not_ready_count() {
  return __atomic_load_n(&All().asked, __ATOMIC_RELAXED);
}
extern "C" __attribute__((visibility("default"))) void fake_finish() {
  __atomic_store_n(&All().is_finished, true, __ATOMIC_RELEASE);
}
