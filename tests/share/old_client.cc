// Starts with every glibc since 2.2.5 and takes the loader's functions from libdl.so.2, as programs
// of old releases do. Prints how often there were 512 MiB.
#include <cstdio>
#include <cstdlib>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

extern "C" {
void* OldDlopen(const char* file, int mode);
__asm__(".symver OldDlopen,dlopen@GLIBC_2.2.5");
void* OldDlsym(void* library, const char* name);
__asm__(".symver OldDlsym,dlsym@GLIBC_2.2.5");
[[noreturn]] __attribute__((force_align_arg_pointer)) void _start();  // NOLINT: the linker's name
}

// The start files of today would ask for a newer glibc.
void _start() {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
  constexpr int kNow = 2;
  void* driver = OldDlopen("libcuda.so.1", kNow);
  auto* init = reinterpret_cast<cu::InitFn*>(OldDlsym(driver, "cuInit"));
  auto* create = reinterpret_cast<cu::CtxCreateFn*>(OldDlsym(driver, "cuCtxCreate_v2"));
  auto* allocate = reinterpret_cast<cu::MemAllocFn*>(OldDlsym(driver, "cuMemAlloc_v2"));
  cu::Context context = nullptr;
  cu::DevicePointer pointer = 0;
  int count = 0;
  (void)init(0);
  (void)create(&context, 0, 0);
  while (count < 1000 && allocate(&pointer, size_t{512} << 20) == cu::kSuccess) {
    ++count;
  }
  printf("old %d\n", count);
  exit(0);  // NOLINT(concurrency-mt-unsafe): one thread
}
