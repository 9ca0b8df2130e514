// The least that a libcuda.so.1 can do, without any work and any limit: for measurements, and for
// programs without a C++ library.
#include <cstring>

#include "src/gpu/cuda_abi/functions.h"

#define BARE extern "C" __attribute__((visibility("default"))) kgpu::cuda_api::Result

namespace cu = kgpu::cuda_api;

namespace {
cu::DevicePointer& Next() {
  static cu::DevicePointer next = 0x700000000000;
  return next;
}

}  // namespace

BARE cuInit(unsigned) {
  return cu::kSuccess;
}
BARE cuDeviceGetUuid_v2(cu::Uuid* uuid, cu::Device) {
  memset(uuid, 0, sizeof(*uuid));
  return cu::kSuccess;
}
BARE cuCtxCreate_v2(cu::Context* context, unsigned, cu::Device) {
  *context = reinterpret_cast<cu::Context>(&Next());
  return cu::kSuccess;
}
BARE cuCtxGetCurrent(cu::Context* context) {
  *context = reinterpret_cast<cu::Context>(&Next());
  return cu::kSuccess;
}
BARE cuCtxGetDevice(cu::Device* device) {
  *device = 0;
  return cu::kSuccess;
}
BARE cuMemAlloc_v2(cu::DevicePointer* pointer, size_t size) {
  Next() += (size + 511) & ~size_t{511};
  *pointer = Next();
  return cu::kSuccess;
}
BARE cuMemFree_v2(cu::DevicePointer) {
  return cu::kSuccess;
}
BARE cuLaunchKernel(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, cu::Stream, void**, void**) {
  return cu::kSuccess;
}
BARE cuGraphLaunch(cu::GraphExec, cu::Stream) {
  return cu::kSuccess;
}
