// A program that launches kernels: `launch_client WAY TIMES FUNCTION` prints how many of the
// launches were successes. WAY is how it finds the function: dlsym, or cuGetProcAddress; threads is
// the first from 16 threads, fork from a child.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

namespace {

using cu::Result;

template <typename Fn>
Fn* As(void* function) {
  return reinterpret_cast<Fn*>(function);
}

cu::Stream Numbered(uintptr_t number) {
  return reinterpret_cast<cu::Stream>(number);  // NOLINT(performance-no-int-to-ptr)
}

using LaunchBy = std::function<Result(void* function)>;

Result LaunchKernel(void* function, cu::Stream stream) {
  return As<cu::LaunchKernelFn>(function)(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

Result LaunchCooperative(void* function) {
  return As<cu::LaunchCooperativeKernelFn>(function)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                                     nullptr);
}

const std::map<std::string, LaunchBy> kLaunches = {
    {"cuLaunch", [](void* f) { return As<Result(cu::Function)>(f)(nullptr); }},
    {"cuLaunchGrid", [](void* f) { return As<Result(cu::Function, int, int)>(f)(nullptr, 1, 1); }},
    {"cuLaunchGridAsync",
     [](void* f) {
       return As<Result(cu::Function, int, int, cu::Stream)>(f)(nullptr, 1, 1, nullptr);
     }},
    {"cuLaunchKernel", [](void* f) { return LaunchKernel(f, nullptr); }},
    {"cuLaunchKernel_ptsz", [](void* f) { return LaunchKernel(f, nullptr); }},
    {"cuLaunchKernelEx",
     [](void* f) {
       const cu::LaunchConfig config{};
       return As<cu::LaunchKernelExFn>(f)(&config, nullptr, nullptr, nullptr);
     }},
    {"cuLaunchKernelEx_ptsz",
     [](void* f) {
       const cu::LaunchConfig config{};
       return As<cu::LaunchKernelExFn>(f)(&config, nullptr, nullptr, nullptr);
     }},
    {"cuLaunchCooperativeKernel", &LaunchCooperative},
    {"cuLaunchCooperativeKernel_ptsz", &LaunchCooperative},
    {"cuLaunchCooperativeKernelMultiDevice",
     [](void* f) {
       cu::LaunchParams launch{};
       return As<Result(cu::LaunchParams*, unsigned, unsigned)>(f)(&launch, 1, 0);
     }},
    {"cuGraphLaunch_ptsz", [](void* f) { return As<cu::GraphLaunchFn>(f)(nullptr, nullptr); }},
    {"captured", [](void* f) { return LaunchKernel(f, Numbered(7)); }},
    {"busy",  // for a millisecond, and when it is asked then
     [](void* f) {
       const Result result = LaunchKernel(f, Numbered(9));
       (void)usleep(1000);
       return result;
     }},
};

void* Find(void* driver, const std::string& way, const std::string& name) {
  const char* wanted = name.starts_with("cu") ? name.c_str() : "cuLaunchKernel";
  if (way != "cuGetProcAddress") {
    return dlsym(driver, wanted);
  }
  void* function = nullptr;
  cu::ProcAddressStatus status{};
  auto* get = As<cu::GetProcAddressFn>(dlsym(driver, "cuGetProcAddress_v2"));
  (void)get(wanted, &function, 12000, 0, &status);
  return function;
}

void RunInThreads(const std::function<void()>& run) {
  std::vector<std::thread> threads;
  threads.reserve(16);
  for (int at = 0; at < 16; ++at) {
    threads.emplace_back(run);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

bool RunInChild(const std::function<bool()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(run() ? 0 : 1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr || argc != 4) {
    return 1;
  }
  const std::string way = argv[1];
  const long times = strtol(argv[2], nullptr, 10);
  const LaunchBy& launch = kLaunches.at(argv[3]);
  cu::Context context = nullptr;
  (void)As<cu::InitFn>(dlsym(driver, "cuInit"))(0);
  (void)As<cu::CtxCreateFn>(dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
  void* function = Find(driver, way, argv[3]);
  std::atomic<long> successes = 0;
  const auto run = [&] {
    (void)As<cu::CtxSetCurrentFn>(dlsym(driver, "cuCtxSetCurrent"))(context);
    for (long at = 0; at < times; ++at) {
      successes += launch(function) == cu::kSuccess ? 1 : 0;
    }
  };
  if (way == "threads") {
    RunInThreads(run);
  } else {
    run();
  }
  if (way == "fork") {
    const long before = successes;
    const bool is_ok = RunInChild([&] {
      run();
      return successes == before + times;
    });
    successes += is_ok ? times : 0;
  }
  auto* count = As<uint64_t()>(dlsym(driver, "fake_launch_count"));
  printf("%ld %llu\n", successes.load(), static_cast<unsigned long long>(count()));
  return 0;
}
