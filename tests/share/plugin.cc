// A plug-in that is linked with the driver, and also looks it up by itself.
#include <dlfcn.h>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

extern "C" {
cu::InitFn cuInit;
cu::CtxCreateFn cuCtxCreate_v2;
cu::MemAllocFn cuMemAlloc_v2;
int PluginAllocate(int how);
}

// How many times 512 MiB there are: with the functions it is bound to (0), with those that dlsym
// finds (1).
__attribute__((visibility("default"))) int PluginAllocate(int how) {
  auto* init = &cuInit;
  auto* create = &cuCtxCreate_v2;
  auto* allocate = &cuMemAlloc_v2;
  if (how == 1) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    init = reinterpret_cast<cu::InitFn*>(dlsym(driver, "cuInit"));
    create = reinterpret_cast<cu::CtxCreateFn*>(dlsym(driver, "cuCtxCreate_v2"));
    allocate = reinterpret_cast<cu::MemAllocFn*>(dlsym(driver, "cuMemAlloc_v2"));
  }
  if (init == nullptr || create == nullptr || allocate == nullptr) {
    return -1;
  }
  cu::Context context = nullptr;
  cu::DevicePointer pointer = 0;
  int count = 0;
  (void)init(0);
  (void)create(&context, 0, 0);
  while (count < 1000 && allocate(&pointer, size_t{512} << 20) == cu::kSuccess) {
    ++count;
  }
  return count;
}
