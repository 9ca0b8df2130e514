#include "src/preload/driver.h"

#include <dlfcn.h>

#include "src/gpu/cuda_abi/abi.h"
#include "src/preload/gates.h"
#include "src/preload/lock.h"
#include "src/preload/share.h"
#include "src/preload/text.h"

// Only the addresses count; the types stand where the functions do.
extern "C" {
#define KGPU_HOOK(name, base, since, is_per_thread) void name();
#include "src/preload/hooks.inc"
#undef KGPU_HOOK
}

namespace kgpu::preload {
namespace {

const Hook kHooks[kHookCount] = {
#define KGPU_HOOK(name, base, since, is_per_thread) \
  {#name, #base, since, (is_per_thread) != 0, reinterpret_cast<void*>(&::name)},
#include "src/preload/hooks.inc"
#undef KGPU_HOOK
};

// Names that cuGetProcAddress gives to functions that are exported under others.
struct Alias {
  const char* base;
  int since;
  HookId id;
};
constexpr Alias kAliases[] = {{"cuGraphInstantiate", 12000, k_cuGraphInstantiateWithFlags}};

constexpr const char* kHelperNames[kHelperCount] = {
    "cuCtxGetDevice",
    "cuCtxGetCurrent",
    "cuDeviceGetCount",
    "cuDeviceGetUuid",
    "cuDeviceGetUuid_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxGetState",
    "cuDeviceGetMemPool",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetGraphMemAttribute",
    "cuMemPoolGetAttribute",
    "cuMemGetAddressRange_v2",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuGraphGetNodes",
    "cuGraphNodeGetType",
    "cuGraphMemAllocNodeGetParams",
    "cuGraphChildGraphNodeGetGraph",
    "cuStreamIsCapturing",
    "cuStreamGetDevice",
    "cuStreamGetCtx",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuThreadExchangeStreamCaptureMode",
};

constexpr const char* kKnownNames[] = {
#include "src/preload/known_names.inc"
};

// Whether programs get our function: launches cost nothing where no time is shared.
bool IsActive(uint32_t id) {
  return id < k_cuLaunch || HasGates();
}

enum State : uint32_t { kUnknown = 0, kClaimed = 1, kReady = 2 };

// Where the driver is. Written once, by whoever claims it; a fork may keep it, for it is mapped at
// the same place in the child.
struct Driver {
  uint32_t state;
  ElfImage image;
  void* real[kHookCount];
  void* helpers[kHelperCount];
};

Driver& TheDriver() {
  static constinit Driver driver{};
  return driver;
}

// Loaded for good: our pointers lead into it.
bool Pin(bool may_load) {
  static void* found;
  void* open = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (open == nullptr) {
    open = FindInLibc("dlopen");
    __atomic_store_n(&found, open, __ATOMIC_RELAXED);
  }
  if (open == nullptr) {
    return false;
  }
  const int mode = RTLD_LAZY | RTLD_NODELETE | (may_load ? 0 : RTLD_NOLOAD);
  return reinterpret_cast<void* (*)(const char*, int)>(open)(kDriverSoname, mode) != nullptr;
}

void ReadDriver(const ElfImage& image) {
  for (uint32_t at = 0; at < kHookCount; ++at) {
    TheDriver().real[at] = image.Find(kHooks[at].name);
  }
  for (uint32_t at = 0; at < kHelperCount; ++at) {
    TheDriver().helpers[at] = image.Find(kHelperNames[at]);
  }
  TheDriver().image = image;
  for (uint32_t at = 0; at < kHookCount; ++at) {
    if (TheDriver().real[at] != nullptr && IsActive(at) &&
        !image.Redirect(kHooks[at].name, kHooks[at].function)) {
      static bool said;
      SayOnce(&said, Line().Add("libcuda.so.1 cannot be changed in memory: libraries opened with "
                                "RTLD_DEEPBIND may pass by the limit"));
    }
  }
}

bool IsDriverName(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

// What programs find in place of a function that we do not know.
cuda_api::Result RefuseCall() {
  static bool said;
  SayOnce(&said,
          Line().Add("an unknown function of the driver was called and refused: update kgpu, or "
                     "have the limits say \"unknown flag\""));
  return cuda_api::kNotFound;
}

void RedirectUnknown(const ElfImage& image) {
  if (MayCallUnknown()) {
    return;
  }
  image.ForEachName([&](const char* name) {
    if (IsDriverName(name) && !IsKnownName(name)) {
      (void)image.Redirect(name, reinterpret_cast<void*>(&RefuseCall));
    }
  });
}

// What was bound past us before we knew the driver. Others that stand in for it keep their callers.
void RebindObject(const ElfImage& image) {
  if (image.base() == DriverImage().base()) {
    return;
  }
  image.Rebind([](const char* name, uintptr_t bound) -> const void* {
    return IsDriverName(name) && DriverImage().Contains(bound) ? TargetOf(name) : nullptr;
  });
}

bool Ensure(bool may_load) {
  if (__atomic_load_n(&TheDriver().state, __ATOMIC_ACQUIRE) == kReady) {
    return true;
  }
  if (!Pin(may_load)) {
    return false;
  }
  const ElfImage image = FindImage(kDriverSoname);
  if (!image.is_ok()) {
    return false;
  }
  uint32_t seen = kUnknown;
  if (__atomic_compare_exchange_n(&TheDriver().state, &seen, kClaimed, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    ReadDriver(image);
    RedirectUnknown(image);
    ForEachImage(&RebindObject);
    __atomic_store_n(&TheDriver().state, kReady, __ATOMIC_RELEASE);
    return true;
  }
  // Whoever claimed it waits for nobody; only the child of a fork in the middle of this finds no
  // end.
  constexpr int kMaxWaits = 5000;  // of a millisecond
  for (int waits = 0; waits < kMaxWaits; ++waits) {
    if (__atomic_load_n(&TheDriver().state, __ATOMIC_ACQUIRE) == kReady) {
      return true;
    }
    FutexWait(&TheDriver().state, kClaimed, 1, false);
  }
  return false;
}

}  // namespace

const Hook& HookOf(HookId id) {
  return kHooks[id];
}

HookId FindHook(const char* name) {
  for (uint32_t at = 0; at < kHookCount; ++at) {
    if (Equal(kHooks[at].name, name)) {
      return IsActive(at) ? static_cast<HookId>(at) : kHookCount;
    }
  }
  return kHookCount;
}

HookId FindHookByAddress(const void* function) {
  for (uint32_t at = 0; at < kHookCount; ++at) {
    if (TheDriver().real[at] == function && function != nullptr) {
      return IsActive(at) ? static_cast<HookId>(at) : kHookCount;
    }
  }
  return kHookCount;
}

HookId FindHookByBase(const char* base, int version, bool is_per_thread) {
  HookId best = kHookCount;
  int best_since = 0;
  bool best_per_thread = false;
  for (uint32_t at = 0; at < kHookCount; ++at) {
    const Hook& hook = kHooks[at];
    const bool may_serve = hook.since <= version && (!hook.is_per_thread || is_per_thread);
    const bool is_better =
        hook.is_per_thread == best_per_thread ? hook.since >= best_since : hook.is_per_thread;
    if (may_serve && (best == kHookCount || is_better) && Equal(hook.base, base) && IsActive(at)) {
      best = static_cast<HookId>(at);
      best_since = hook.since;
      best_per_thread = hook.is_per_thread;
    }
  }
  for (const Alias& alias : kAliases) {
    if (alias.since <= version && alias.since >= best_since && Equal(alias.base, base)) {
      best = alias.id;
    }
  }
  return best;
}

bool EnsureDriver() {
  return Ensure(false);
}

bool LoadDriver() {
  return Ensure(true);
}

void* RealAddress(HookId id) {
  return EnsureDriver() ? TheDriver().real[id] : nullptr;
}

void* HelperAddress(HelperId id) {
  return EnsureDriver() ? TheDriver().helpers[id] : nullptr;
}

void* TargetOf(const char* name) {
  const HookId id = FindHook(name);
  if (id != kHookCount) {
    return TheDriver().real[id] != nullptr ? kHooks[id].function : nullptr;
  }
  return TheDriver().image.Find(name);
}

const ElfImage& DriverImage() {
  return TheDriver().image;
}

void RedirectCopy(const ElfImage& copy) {
  copy.ForEachName([&](const char* name) {
    if (name[0] == 'c' && name[1] == 'u') {
      const void* target = TargetOf(name);
      if (target != nullptr) {
        (void)copy.Redirect(name, target);
      }
    }
  });
}

bool IsKnownName(const char* name) {
  char base[96] = {};
  size_t size = Length(name);
  if (size >= sizeof(base)) {
    return false;
  }
  for (size_t at = 0; at <= size; ++at) {
    base[at] = name[at];
  }
  if (size > 5 && (Equal(&base[size - 5], "_ptsz") || Equal(&base[size - 5], "_ptds"))) {
    base[size - 5] = '\0';
  }
  size_t low = 0;
  size_t high = sizeof(kKnownNames) / sizeof(kKnownNames[0]);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const char* found = kKnownNames[middle];
    size_t at = 0;
    while (found[at] != '\0' && found[at] == base[at]) {
      ++at;
    }
    if (found[at] == base[at]) {
      return true;
    }
    const bool is_below =
        static_cast<unsigned char>(found[at]) < static_cast<unsigned char>(base[at]);
    low = is_below ? middle + 1 : low;
    high = is_below ? high : middle;
  }
  return false;
}

}  // namespace kgpu::preload
