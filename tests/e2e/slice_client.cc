// Takes device memory as a program does that has room for more: `slice-client MAX` prints what the
// device has, then asks for 512 MiB up to MAX times, prints how often it got them, and keeps them
// until it is ended.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

namespace {

constexpr size_t kMiB = 1 << 20;

template <typename Fn>
Fn* Find(void* driver, const char* name) {
  return reinterpret_cast<Fn*>(dlsym(driver, name));
}

}  // namespace

int main(int argc, char** argv) {
  const int pieces = argc == 2 ? atoi(argv[1]) : 0;  // NOLINT(cert-err34-c): 0 is an error, too
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (pieces <= 0 || driver == nullptr) {
    (void)std::fputs("usage: slice-client MAX, where libcuda.so.1 is\n", stderr);
    return 2;
  }
  cu::Context context = nullptr;
  size_t free = 0;
  size_t total = 0;
  if (Find<cu::InitFn>(driver, "cuInit")(0) != cu::kSuccess ||
      Find<cu::CtxCreateFn>(driver, "cuCtxCreate_v2")(&context, 0, 0) != cu::kSuccess ||
      Find<cu::MemGetInfoFn>(driver, "cuMemGetInfo_v2")(&free, &total) != cu::kSuccess) {
    (void)std::fputs("no context\n", stderr);
    return 1;
  }
  std::printf("total %zu\n", total / kMiB);
  auto* allocate = Find<cu::MemAllocFn>(driver, "cuMemAlloc_v2");
  cu::DevicePointer pointer = 0;
  int count = 0;
  while (count < pieces && allocate(&pointer, 512 * kMiB) == cu::kSuccess) {
    ++count;
  }
  std::printf("got %d\n", count);
  (void)std::fflush(stdout);
  for (;;) {
    pause();
  }
}
