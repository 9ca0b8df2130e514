// Prints nanoseconds of calls of CUDA's driver, one line for each kind: run with and without the
// library that limits memory.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

namespace {

constexpr int kTurns = 100000;
constexpr size_t kSize = 4096;

template <typename Fn>
Fn* Find(void* driver, const char* name) {
  return reinterpret_cast<Fn*>(dlsym(driver, name));
}

// Of this process on a CPU: other load changes it least.
double Nanoseconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Work>
void Print(const char* what, Work&& work) {
  const double start = Nanoseconds();
  for (int turn = 0; turn < kTurns; ++turn) {
    work(turn);
  }
  printf("%s %.1f\n", what, (Nanoseconds() - start) / kTurns);
}

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    return 1;
  }
  cu::Context context = nullptr;
  (void)Find<cu::InitFn>(driver, "cuInit")(0);
  if (Find<cu::CtxCreateFn>(driver, "cuCtxCreate_v2")(&context, 0, 0) != cu::kSuccess) {
    return 1;
  }
  auto* allocate = Find<cu::MemAllocFn>(driver, "cuMemAlloc_v2");
  auto* release = Find<cu::MemFreeFn>(driver, "cuMemFree_v2");
  auto* launch = Find<cu::LaunchKernelFn>(driver, "cuLaunchKernel");
  auto* launch_graph = Find<cu::GraphLaunchFn>(driver, "cuGraphLaunch");
  std::vector<cu::DevicePointer> kept(kTurns);
  cu::DevicePointer pointer = 0;
  Print("pair", [&](int) {
    (void)allocate(&pointer, kSize);
    (void)release(pointer);
  });
  Print("grow", [&](int turn) { (void)allocate(&kept[static_cast<size_t>(turn)], kSize); });
  Print("beside", [&](int) {
    (void)allocate(&pointer, kSize);
    (void)release(pointer);
  });
  Print("launch",
        [&](int) { (void)launch(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); });
  Print("graph", [&](int) { (void)launch_graph(nullptr, nullptr); });
  int found = 0;
  Print("lookup", [&](int) { found += dlsym(RTLD_DEFAULT, "malloc") != nullptr ? 1 : 0; });
  return found == kTurns ? 0 : 1;
}
