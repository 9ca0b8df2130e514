// The real driver: where its functions are, which of them we stand in for, and what it may be
// asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/preload/elf_image.h"

namespace kgpu::preload {

inline constexpr char kDriverSoname[] = "libcuda.so.1";

// Functions with a stand-in.
enum HookId : uint32_t {
#define KGPU_HOOK(name, base, since, is_per_thread) k_##name,
#include "src/preload/hooks.inc"
#undef KGPU_HOOK
  kHookCount
};

// Functions that we only call.
enum HelperId : uint32_t {
  kCtxGetDevice,
  kCtxGetCurrent,
  kDeviceGetCount,
  kDeviceGetUuid,
  kDeviceGetUuidV2,
  kDeviceGetAttribute,
  kDevicePrimaryCtxGetState,
  kDeviceGetMemPool,
  kDeviceGetDefaultMemPool,
  kDeviceGetGraphMemAttribute,
  kMemPoolGetAttribute,
  kMemGetAddressRange,
  kMemGetAllocationProperties,
  kGraphGetNodes,
  kGraphNodeGetType,
  kGraphMemAllocNodeGetParams,
  kGraphChildGraphNodeGetGraph,
  kStreamIsCapturing,
  kStreamGetDevice,
  kStreamGetCtx,
  kCtxPushCurrent,
  kCtxPopCurrent,
  kEventCreate,
  kEventRecord,
  kEventQuery,
  kThreadExchangeStreamCaptureMode,
  kHelperCount
};

struct Hook {
  const char* name;  // as exported
  const char* base;  // as cuGetProcAddress takes it
  int since;         // CUDA version, 1000 * major + 10 * minor
  bool is_per_thread;
  void* function;  // our stand-in
};

const Hook& HookOf(HookId id);
// The stand-in for an exported name, or kHookCount; none of these three finds those for launches
// unless the container has a share of a GPU's time.
HookId FindHook(const char* name);
// The stand-in for a function of the driver itself, or kHookCount.
HookId FindHookByAddress(const void* function);
// The newest one for a name without its version, as of `version`; kHookCount if there is none.
HookId FindHookByBase(const char* base, int version, bool is_per_thread);

// Finds the driver that is loaded, once, remembers its functions, and makes every later look-up in
// it find our stand-ins. False while none is loaded in the program's own namespace. Any thread;
// takes no lock of the loader that code of others runs under.
bool EnsureDriver();
// The same; loads the driver if need be.
bool LoadDriver();

// The real function; null if this driver does not have it, or none is loaded.
void* RealAddress(HookId id);
void* HelperAddress(HelperId id);
// What a look-up of `name` should find in the driver: our stand-in, or the real function.
void* TargetOf(const char* name);
// The driver's object; not ok before EnsureDriver.
const ElfImage& DriverImage();
// Makes another copy of the driver, in another namespace or under another name, lead to the first.
void RedirectCopy(const ElfImage& copy);

template <typename Fn>
Fn* Real(HookId id) {
  return reinterpret_cast<Fn*>(RealAddress(id));
}
template <typename Fn>
Fn* Helper(HelperId id) {
  return reinterpret_cast<Fn*>(HelperAddress(id));
}

// Whether `name`, an exported name or one for cuGetProcAddress, is a function that we know.
bool IsKnownName(const char* name);

}  // namespace kgpu::preload
