// Launches kernels until it is killed: `timed-client MICROSECONDS queue|wait`.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

int main(int argc, char** argv) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr || argc != 3) {
    return 1;
  }
  const bool waits = strcmp(argv[2], "wait") == 0;
  const auto microseconds = static_cast<unsigned>(strtoul(argv[1], nullptr, 10));
  cu::Context context = nullptr;
  (void)reinterpret_cast<cu::InitFn*>(dlsym(driver, "cuInit"))(0);
  (void)reinterpret_cast<cu::CtxCreateFn*>(dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
  auto* launch = reinterpret_cast<cu::LaunchKernelFn*>(dlsym(driver, "cuLaunchKernel"));
  auto* wait = reinterpret_cast<cu::CtxSynchronizeFn*>(dlsym(driver, "cuCtxSynchronize"));
  for (;;) {
    (void)launch(nullptr, microseconds, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    if (waits) {
      (void)wait();
    }
  }
}
