// Prints the memory of the first GPU as NVML shows it, in both of its forms, in MiB.
#include <dlfcn.h>

#include <cstdio>

#include "src/gpu/nvml/abi.h"

namespace nv = kgpu::nvml;

int main() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) {
    printf("not loaded\n");
    return 1;
  }
  nv::Device device = nullptr;
  nv::Memory memory{};
  nv::MemoryV2 memory_v2{};
  memory_v2.version = nv::kMemoryV2Version;
  (void)reinterpret_cast<nv::Return (*)()>(dlsym(library, "nvmlInit_v2"))();
  (void)reinterpret_cast<nv::Return (*)(unsigned, nv::Device*)>(
      dlsym(library, "nvmlDeviceGetHandleByIndex_v2"))(0, &device);
  (void)reinterpret_cast<nv::DeviceGetMemoryInfoFn*>(dlsym(library, "nvmlDeviceGetMemoryInfo"))(
      device, &memory);
  (void)reinterpret_cast<nv::DeviceGetMemoryInfoV2Fn*>(
      dlsym(library, "nvmlDeviceGetMemoryInfo_v2"))(device, &memory_v2);
  printf("v1 total=%lu used=%lu free=%lu\n", memory.total >> 20, memory.used >> 20,
         memory.free >> 20);
  printf("v2 total=%lu used=%lu free=%lu\n", memory_v2.total >> 20, memory_v2.used >> 20,
         memory_v2.free >> 20);
  return 0;
}
