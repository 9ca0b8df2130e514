// A libcuda.so.1 whose kernels take time of a timed GPU: as many microseconds as their grid is
// wide.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctime>

#include "bench/timed_gpu.h"
#include "src/gpu/cuda_abi/abi.h"

#define TIMED extern "C" __attribute__((visibility("default"))) Result

namespace cu = kgpu::cuda_api;
using cu::Result;

namespace {

constexpr uint64_t kDepth = 1'000;  // launches that the driver takes before it waits

kgpu::bench::TimedWork& Mine() {
  static auto* work = [] {
    const int file = open(&kgpu::bench::kWorkFile[0], O_RDWR | O_CLOEXEC);
    return static_cast<kgpu::bench::TimedWork*>(
        mmap(nullptr, sizeof(kgpu::bench::TimedWork), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }();
  return *work;
}

uint64_t Done() {
  return __atomic_load_n(&Mine().done, __ATOMIC_ACQUIRE);
}

// Until so much is done.
Result Wait(uint64_t nanoseconds) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 100'000};
  while (Done() < nanoseconds) {
    (void)nanosleep(&kPause, nullptr);
  }
  return cu::kSuccess;
}

}  // namespace

TIMED cuInit(unsigned) {
  return cu::kSuccess;
}
TIMED cuDeviceGetUuid_v2(cu::Uuid* uuid, cu::Device) {
  *uuid = {};
  return cu::kSuccess;
}
TIMED cuCtxCreate_v2(cu::Context* context, unsigned, cu::Device) {
  static int any;
  *context = reinterpret_cast<cu::Context>(&any);
  return cu::kSuccess;
}
TIMED cuCtxGetDevice(cu::Device* device) {
  *device = 0;
  return cu::kSuccess;
}
TIMED cuCtxSynchronize() {
  return Wait(Mine().queued);
}
TIMED cuStreamSynchronize(cu::Stream) {
  return Wait(Mine().queued);
}
TIMED cuStreamQuery(cu::Stream) {
  return Done() < Mine().queued ? cu::kNotReady : cu::kSuccess;
}
TIMED cuStreamIsCapturing(cu::Stream, cu::CaptureStatus* status) {
  *status = cu::kCaptureNone;
  return cu::kSuccess;
}
TIMED cuLaunchKernel(cu::Function, unsigned microseconds, unsigned, unsigned, unsigned, unsigned,
                     unsigned, unsigned, cu::Stream, void**, void**) {
  const uint64_t nanoseconds = uint64_t{microseconds} * 1'000;
  const uint64_t queued = Mine().queued + nanoseconds;
  __atomic_store_n(&Mine().queued, queued, __ATOMIC_RELEASE);
  return queued > kDepth * nanoseconds ? Wait(queued - kDepth * nanoseconds) : cu::kSuccess;
}
