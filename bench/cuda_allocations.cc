// What the functions of a libcuda.so.1 cost that allocate, and a launch beside them: nanoseconds
// for one pair of calls, the median of rounds. The floor for whatever stands between a program and
// the driver.
//   cuda-allocations LIBRARY [ROUNDS]      default 200
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "src/gpu/cuda_abi/functions.h"

namespace kgpu::bench {
namespace {

namespace cu = cuda_api;
using std::chrono::steady_clock;

class Allocations {
 public:
  Allocations(const char* library, size_t rounds)
      : library_(dlopen(library, RTLD_NOW)), rounds_(rounds) {}

  bool Start() {
    cu::Context context = nullptr;
    return library_ != nullptr && Call<cu::InitFn>("cuInit", 0U) &&
           Call<cu::CtxCreateFn>("cuCtxCreate_v2", &context, 0U, 0);
  }
  bool is_good() const { return is_good_; }

  template <typename Fn>
  Fn* Find(const char* name) {
    auto* found = reinterpret_cast<Fn*>(dlsym(library_, name));
    is_good_ = is_good_ && found != nullptr;
    return found;
  }
  template <typename Fn, typename... Args>
  bool Call(const char* name, Args... args) {
    Fn* function = Find<Fn>(name);
    return Must(function != nullptr ? function(args...) : cu::kNotFound);
  }
  bool Must(cu::Result result) {
    is_good_ = is_good_ && result == cu::kSuccess;
    return is_good_;
  }

  // Prints the median of `work`, which is done `repeats` times in each round.
  void Measure(const char* what, size_t repeats, const std::function<void()>& work) {
    std::vector<double> samples;
    for (size_t round = 0; round < rounds_ && is_good_; ++round) {
      const auto start = steady_clock::now();
      for (size_t i = 0; i < repeats; ++i) {
        work();
      }
      const std::chrono::duration<double, std::nano> took = steady_clock::now() - start;
      samples.push_back(took.count() / static_cast<double>(repeats));
    }
    if (!is_good_ || samples.empty()) {
      return;
    }
    std::ranges::nth_element(samples, samples.begin() + static_cast<long>(samples.size() / 2));
    printf("%-28s %10.0f ns\n", what, samples[samples.size() / 2]);
  }

  void MeasureLinear(const char* what, size_t size) {
    auto* allocate = Find<cu::MemAllocFn>("cuMemAlloc_v2");
    auto* release = Find<cu::MemFreeFn>("cuMemFree_v2");
    Measure(what, 100, [&] {
      cu::DevicePointer pointer = 0;
      Must(allocate(&pointer, size));
      Must(release(pointer));
    });
  }
  void MeasurePool() {
    auto* allocate = Find<cu::MemAllocAsyncFn>("cuMemAllocAsync");
    auto* release = Find<cu::MemFreeAsyncFn>("cuMemFreeAsync");
    Measure("cuMemAllocAsync 1 MiB", 100, [&] {
      cu::DevicePointer pointer = 0;
      Must(allocate(&pointer, size_t{1} << 20, nullptr));
      Must(release(pointer, nullptr));
    });
  }
  void MeasureVirtual() {
    auto* create = Find<cu::MemCreateFn>("cuMemCreate");
    auto* release = Find<cu::MemReleaseFn>("cuMemRelease");
    cu::AllocationProperties properties{};
    properties.type = cu::kPinned;
    properties.location = {.type = cu::kLocationDevice, .id = 0};
    Measure("cuMemCreate 2 MiB", 100, [&] {
      cu::AllocationHandle handle = 0;
      Must(create(&handle, size_t{2} << 20, &properties, 0));
      Must(release(handle));
    });
  }
  void MeasureInfo() {
    auto* get = Find<cu::MemGetInfoFn>("cuMemGetInfo_v2");
    Measure("cuMemGetInfo", 100, [&] {
      size_t free_bytes = 0;
      size_t total = 0;
      Must(get(&free_bytes, &total));
    });
  }
  // One thread that does nothing.
  void MeasureLaunch() {
    constexpr char kNothing[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n.visible .entry nothing() {\nret;\n}\n";
    cu::Module module = nullptr;
    cu::Function function = nullptr;
    Call<cu::ModuleLoadDataExFn>("cuModuleLoadDataEx", &module, static_cast<const void*>(kNothing),
                                 0U, static_cast<cu::JitOption*>(nullptr),
                                 static_cast<void**>(nullptr));
    Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", &function, module, "nothing");
    auto* launch = Find<cu::LaunchKernelFn>("cuLaunchKernel");
    Measure("cuLaunchKernel", 1000,
            [&] { Must(launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)); });
  }

 private:
  void* library_;
  size_t rounds_;
  bool is_good_ = true;
};

int Main(const char* library, size_t rounds) {
  Allocations bench(library, rounds);
  if (!bench.Start()) {
    fprintf(stderr, "cuda-allocations: %s: no context on the first GPU: %s\n", library, dlerror());
    return 1;
  }
  bench.MeasureLinear("cuMemAlloc 512 bytes, alone", 512);
  cu::DevicePointer beside = 0;
  bench.Call<cu::MemAllocFn>("cuMemAlloc_v2", &beside, size_t{512});
  bench.MeasureLinear("cuMemAlloc 512 bytes", 512);
  bench.MeasureLinear("cuMemAlloc 4 MiB", size_t{4} << 20);
  bench.MeasurePool();
  bench.MeasureVirtual();
  bench.MeasureInfo();
  bench.MeasureLaunch();
  if (!bench.is_good()) {
    fprintf(stderr, "cuda-allocations: %s: a call failed\n", library);
  }
  return bench.is_good() ? 0 : 1;
}

}  // namespace
}  // namespace kgpu::bench

int main(int count, char** arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: cuda-allocations LIBRARY [ROUNDS]\n");
    return 2;
  }
  const size_t rounds = count > 2 ? strtoul(arguments[2], nullptr, 10) : 200;
  return kgpu::bench::Main(arguments[1], rounds);
}
