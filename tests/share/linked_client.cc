// Linked with the driver: asks for 512 MiB and again until it gets no more; prints how often.
#include <cstdio>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

extern "C" {
cu::InitFn cuInit;
cu::CtxCreateFn cuCtxCreate_v2;
cu::MemAllocFn cuMemAlloc_v2;
cu::MemAllocFn cuMemAllocFuture;
}

int main() {
  cu::Context context = nullptr;
  cu::DevicePointer pointer = 0;
  int count = 0;
  (void)cuInit(0);
  (void)cuCtxCreate_v2(&context, 0, 0);
  while (count < 1000 && cuMemAlloc_v2(&pointer, size_t{512} << 20) == cu::kSuccess) {
    ++count;
  }
#ifdef KGPU_CALL_FUTURE
  printf("future %d\n", cuMemAllocFuture(&pointer, size_t{512} << 20));
#endif
  printf("linked %d\n", count);
  return 0;
}
