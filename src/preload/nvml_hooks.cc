#include "src/preload/nvml_hooks.h"

#include <dlfcn.h>

#include "src/gpu/nvml/abi.h"
#include "src/preload/share.h"
#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

using GetUuidFn = nvml::Return(nvml::Device, char*, uint32_t);

// NVML's own functions; found once.
struct NvmlFunctions {
  GetUuidFn* get_uuid;
  nvml::DeviceGetMemoryInfoFn* get_memory;
  nvml::DeviceGetMemoryInfoV2Fn* get_memory_v2;
};

NvmlFunctions& Nvml() {
  static constinit NvmlFunctions functions{};
  return functions;
}

template <typename Fn>
void Find(const ElfImage& image, const char* name, Fn** function) {
  if (__atomic_load_n(function, __ATOMIC_RELAXED) == nullptr) {
    __atomic_store_n(function, reinterpret_cast<Fn*>(image.Find(name)), __ATOMIC_RELAXED);
  }
}

void FindAll(const ElfImage& image) {
  Find(image, "nvmlDeviceGetUUID", &Nvml().get_uuid);
  Find(image, "nvmlDeviceGetMemoryInfo", &Nvml().get_memory);
  Find(image, "nvmlDeviceGetMemoryInfo_v2", &Nvml().get_memory_v2);
}

bool IsFound() {
  if (__atomic_load_n(&Nvml().get_uuid, __ATOMIC_RELAXED) == nullptr) {
    FindAll(FindImage(kNvmlSoname));
  }
  return Nvml().get_uuid != nullptr;
}

int AccountOfDevice(nvml::Device device) {
  char uuid[nvml::kUuidV2Size] = {};
  if (Nvml().get_uuid(device, uuid, sizeof(uuid)) != nvml::kSuccess) {
    return kUnlimited;
  }
  return AccountOfUuid(uuid);
}

template <typename Memory>
void ShowSlice(nvml::Device device, Memory* memory) {
  const int account = AccountOfDevice(device);
  if (account < 0) {
    return;
  }
  const uint64_t limit = LimitOf(account).limits.memory;
  const uint64_t used = UsedOf(account);
  const uint64_t left = used < limit ? limit - used : 0;
  memory->total = limit < memory->total ? limit : memory->total;
  memory->free = left < memory->free ? left : memory->free;
  memory->used = used;
  if constexpr (requires { memory->reserved; }) {
    memory->reserved = 0;  // of the whole GPU, outside every slice
  }
}

}  // namespace
}  // namespace kgpu::preload

#define KGPU_NVML_STAND_IN extern "C" __attribute__((visibility("default"))) kgpu::nvml::Return

KGPU_NVML_STAND_IN nvmlDeviceGetMemoryInfo(kgpu::nvml::Device device, kgpu::nvml::Memory* memory) {
  if (!kgpu::preload::IsFound() || kgpu::preload::Nvml().get_memory == nullptr) {
    return kgpu::nvml::kErrorFunctionNotFound;
  }
  const kgpu::nvml::Return result = kgpu::preload::Nvml().get_memory(device, memory);
  if (result == kgpu::nvml::kSuccess) {
    kgpu::preload::ShowSlice(device, memory);
  }
  return result;
}

KGPU_NVML_STAND_IN nvmlDeviceGetMemoryInfo_v2(kgpu::nvml::Device device,
                                              kgpu::nvml::MemoryV2* memory) {
  if (!kgpu::preload::IsFound() || kgpu::preload::Nvml().get_memory_v2 == nullptr) {
    return kgpu::nvml::kErrorFunctionNotFound;
  }
  const kgpu::nvml::Return result = kgpu::preload::Nvml().get_memory_v2(device, memory);
  if (result == kgpu::nvml::kSuccess) {
    kgpu::preload::ShowSlice(device, memory);
  }
  return result;
}

namespace kgpu::preload {

void* NvmlTarget(const char* name, const ElfImage& image) {
  const bool is_first = Equal(name, "nvmlDeviceGetMemoryInfo");
  if (!is_first && !Equal(name, "nvmlDeviceGetMemoryInfo_v2")) {
    return nullptr;
  }
  FindAll(image);
  return is_first ? reinterpret_cast<void*>(&nvmlDeviceGetMemoryInfo)
                  : reinterpret_cast<void*>(&nvmlDeviceGetMemoryInfo_v2);
}

}  // namespace kgpu::preload
