#include "bench/event_floor.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "src/gpu/nvml/abi.h"

namespace kgpu::bench {
namespace {

template <typename Function>
Function* Find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    std::abort();
  }
  return reinterpret_cast<Function*>(symbol);
}

// Registers every GPU's XIDs in a new event set.
nvml::EventSet Register(void* library) {
  nvml::EventSet set = nullptr;
  uint32_t count = 0;
  if (Find<nvml::Return()>(library, "nvmlInit_v2")() != nvml::kSuccess ||
      Find<nvml::EventSetCreateFn>(library, "nvmlEventSetCreate")(&set) != nvml::kSuccess ||
      Find<nvml::Return(uint32_t*)>(library, "nvmlDeviceGetCount_v2")(&count) != nvml::kSuccess) {
    std::abort();
  }
  for (uint32_t i = 0; i < count; ++i) {
    nvml::Device device = nullptr;
    Find<nvml::Return(uint32_t, nvml::Device*)>(library, "nvmlDeviceGetHandleByIndex_v2")(i,
                                                                                          &device);
    Find<nvml::DeviceRegisterEventsFn>(library, "nvmlDeviceRegisterEvents")(
        device, nvml::kEventXidCritical, set);
  }
  return set;
}

}  // namespace

EventFloor::EventFloor(const std::string& library, std::function<void()> seen) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY);
  if (handle == nullptr) {
    std::abort();
  }
  nvml::EventSet set = Register(handle);
  auto* wait = Find<nvml::EventSetWaitFn>(handle, "nvmlEventSetWait_v2");
  waiter_ = std::jthread([this, set, wait, seen = std::move(seen)](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      nvml::EventData data{};
      if (wait(set, &data, 100) == nvml::kSuccess) {
        seen_.store(std::chrono::steady_clock::now().time_since_epoch().count());
        if (seen) {
          seen();
        }
      }
    }
  });
}

EventFloor::~EventFloor() = default;

}  // namespace kgpu::bench
