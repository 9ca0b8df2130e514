// Launches of fake_cuda.cc: each counts. A stream of the number 7 is being captured; one of the
// number 9 is busy at the first query after a launch.
#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"

#define FAKE extern "C" __attribute__((visibility("default"))) Result

namespace cu = kgpu::cuda_api;
using cu::Result;

namespace {

constexpr uintptr_t kCapturing = 7;
constexpr uintptr_t kBusy = 9;

struct Launches {
  uint64_t count = 0;
  bool is_busy = false;
};

Launches& All() {
  static Launches launches;
  return launches;
}

Result Count() {
  __atomic_fetch_add(&All().count, 1, __ATOMIC_RELAXED);
  All().is_busy = true;
  return cu::kSuccess;
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
                    unsigned, cu::Stream, void**, void**) {
  return Count();
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
FAKE cuStreamQuery(cu::Stream stream) {
  const bool was_busy = All().is_busy && reinterpret_cast<uintptr_t>(stream) == kBusy;
  All().is_busy = false;
  return was_busy ? cu::kNotReady : cu::kSuccess;
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
