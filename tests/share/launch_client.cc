// A program that launches kernels: `launch_client WAY TIMES FUNCTION` prints how many of the
// launches were successes. WAY is how it finds the function: dlsym, or cuGetProcAddress; threads is
// the first from 16 threads, fork from a child. `many` is from 64 threads, `more` from 96, and
// `one` from one, while the main thread prints how many there were when the library had been
// waiting for a while for the end of some; then it lets them end.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
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

Result LaunchAndWait(void* function, cu::Stream stream) {
  auto* wait = As<cu::StreamSynchronizeFn>(dlsym(RTLD_DEFAULT, "cuStreamSynchronize"));
  const Result result = LaunchKernel(function, stream);
  (void)wait(stream);
  return result;
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
    {"held",  // by each thread in a stream of its own
     [](void* f) {
       static std::atomic<uintptr_t> next = 100;
       static thread_local const uintptr_t own = next++;
       return LaunchKernel(f, Numbered(own));
     }},
    {"mixed",  // the first one has no end; the program waits for the others
     [](void* f) {
       static std::atomic<bool> has_begun = false;
       const cu::Stream stream = Numbered(has_begun.exchange(true) ? 20 : 100);
       return stream == Numbered(20) ? LaunchAndWait(f, stream) : LaunchKernel(f, stream);
     }},
    {"spread",  // over 80 streams, one after the other
     [](void* f) {
       static std::atomic<uintptr_t> next = 0;
       return LaunchKernel(f, Numbered(10 + next++ % 80));
     }},
    {"slow", [](void* f) { return LaunchKernel(f, Numbered(8)); }},   // the driver, for 20 ms
    {"busy", [](void* f) { return LaunchAndWait(f, Numbered(9)); }},  // for 20 ms
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

// Runs it in as many threads. `meanwhile` is called once they have begun.
void RunInThreads(int number, const std::function<void()>& run,
                  const std::function<void()>& meanwhile) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(number));
  for (int at = 0; at < number; ++at) {
    threads.emplace_back(run);
  }
  meanwhile();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Waits until all threads have begun and ask often whether their kernels have ended; prints how
// many kernels were launched by then, and lets them end.
void FinishOnceTheyWait(void* driver, uint64_t (*count)(), const std::latch& have_begun) {
  have_begun.wait();
  constexpr uint64_t kOften = 100;
  As<void(uint64_t)>(dlsym(driver, "fake_await_not_ready"))(kOften);
  printf("%llu ", static_cast<unsigned long long>(count()));
  As<void()>(dlsym(driver, "fake_finish"))();
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
  auto* count = As<uint64_t()>(dlsym(driver, "fake_launch_count"));
  const std::map<std::string, int> held = {{"many", 64}, {"more", 96}, {"one", 1}};
  const auto found = held.find(way);
  const int number = found == held.end() ? 0 : found->second;
  std::latch have_begun(number);
  const auto run = [&] {
    if (number > 0) {
      have_begun.count_down();
    }
    (void)As<cu::CtxSetCurrentFn>(dlsym(driver, "cuCtxSetCurrent"))(context);
    for (long at = 0; at < times; ++at) {
      successes += launch(function) == cu::kSuccess ? 1 : 0;
    }
  };
  if (number > 0) {
    RunInThreads(number, run, [&] { FinishOnceTheyWait(driver, count, have_begun); });
  } else if (way == "threads") {
    RunInThreads(16, run, [] {});
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
  printf("%ld %llu\n", successes.load(), static_cast<unsigned long long>(count()));
  return 0;
}
