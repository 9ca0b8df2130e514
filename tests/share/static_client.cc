// Linked statically, so that no loader preloads anything; it loads the driver by itself.
#include <dlfcn.h>

#include <cstdio>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    printf("not loaded\n");
    return 1;
  }
  cu::Context context = nullptr;
  cu::DevicePointer pointer = 0;
  int count = 0;
  (void)reinterpret_cast<cu::InitFn*>(dlsym(driver, "cuInit"))(0);
  (void)reinterpret_cast<cu::CtxCreateFn*>(dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
  auto* allocate = reinterpret_cast<cu::MemAllocFn*>(dlsym(driver, "cuMemAlloc_v2"));
  while (count < 1000 && allocate(&pointer, size_t{512} << 20) == cu::kSuccess) {
    ++count;
  }
  printf("static %d\n", count);
  return 0;
}
