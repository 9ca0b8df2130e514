// The loader's functions for programs: dlsym, dlvsym, dlopen, dlmopen. Whatever does not concern
// the driver goes on to the C library with the caller's own return address, for it decides what
// RTLD_NEXT, run paths and namespaces mean. lookup_entry.cc has the entries.
#include <dlfcn.h>

#include "src/preload/driver.h"
#include "src/preload/nvml_hooks.h"
#include "src/preload/share.h"
#include "src/preload/system.h"
#include "src/preload/text.h"

// The caller gets `result`, or `target` is called in place of us with the same arguments.
struct Decision {
  void* result;
  void* target;
};

extern "C" {
// The entries, which programs find in place of the C library's.
void kgpu_dlsym();
void kgpu_dlvsym();
void kgpu_dlopen();
void kgpu_dlmopen();
__attribute__((visibility("hidden"))) Decision KgpuDecideDlsym(void* handle, const char* name);
__attribute__((visibility("hidden"))) Decision KgpuDecideDlvsym(void* handle, const char* name,
                                                                const char* version);
__attribute__((visibility("hidden"))) Decision KgpuDecideDlopen(const char* file, int mode);
__attribute__((visibility("hidden"))) Decision KgpuDecideDlmopen(long space, const char* file,
                                                                 int mode);
}

namespace kgpu::preload {
namespace {

// Functions of the C library; the same in every process, found when first needed.
struct Loader {
  void* dlsym;
  void* dlvsym;
  void* dlopen;
  void* dlmopen;
  void* dlclose;
  void* dladdr1;
  bool is_found;
};

Loader& TheLoader() {
  static constinit Loader loader{};
  return loader;
}

const Loader& GetLoader() {
  if (!__atomic_load_n(&TheLoader().is_found, __ATOMIC_ACQUIRE)) {
    // Every thread finds the same addresses.
    TheLoader().dlsym = FindInLibc("dlsym");
    TheLoader().dlvsym = FindInLibc("dlvsym");
    TheLoader().dlopen = FindInLibc("dlopen");
    TheLoader().dlmopen = FindInLibc("dlmopen");
    TheLoader().dlclose = FindInLibc("dlclose");
    TheLoader().dladdr1 = FindInLibc("dladdr1");
    __atomic_store_n(&TheLoader().is_found, TheLoader().dlsym != nullptr, __ATOMIC_RELEASE);
  }
  return TheLoader();
}

void* ReturnNull() {
  return nullptr;
}

Decision GoOn(void* target) {
  return {nullptr, target != nullptr ? target : reinterpret_cast<void*>(&ReturnNull)};
}

Decision Answer(void* result) {
  return {result, nullptr};
}

void* CallDlsym(void* handle, const char* name) {
  void* function = GetLoader().dlsym;
  return function == nullptr
             ? nullptr
             : reinterpret_cast<void* (*)(void*, const char*)>(function)(handle, name);
}

// So that the caller's dlerror says what is wrong.
void* FailLookup(void* handle, const char* /*name*/) {
  return CallDlsym(handle, "(a driver function that kgpu-share refuses: see stderr)");
}

const link_map* MapOf(const void* address) {
  using Dladdr1 = int (*)(const void*, Dl_info*, void**, int);
  auto* function = reinterpret_cast<Dladdr1>(GetLoader().dladdr1);
  Dl_info info{};
  void* map = nullptr;
  return function != nullptr && function(address, &info, &map, RTLD_DL_LINKMAP) != 0
             ? static_cast<const link_map*>(map)
             : nullptr;
}

bool IsDriverName(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

// Names of the loader that lead around us; null for all others.
void* LoaderEntry(const char* name) {
  if (Equal(name, "dlsym")) {
    return reinterpret_cast<void*>(&kgpu_dlsym);
  }
  if (Equal(name, "dlvsym")) {
    return reinterpret_cast<void*>(&kgpu_dlvsym);
  }
  if (Equal(name, "dlopen")) {
    return reinterpret_cast<void*>(&kgpu_dlopen);
  }
  return Equal(name, "dlmopen") ? reinterpret_cast<void*>(&kgpu_dlmopen) : nullptr;
}

// Where no object is named, a look-up would find our own entries even without any driver.
Decision DecideByScope(const char* name, void* next) {
  const HookId id = FindHook(name);
  if (id != kHookCount) {
    void* function = EnsureDriver() && RealAddress(id) != nullptr ? HookOf(id).function : nullptr;
    return function != nullptr ? Answer(function) : GoOn(reinterpret_cast<void*>(&FailLookup));
  }
  if (!IsKnownName(name) && EnsureDriver() && DriverImage().Find(name) != nullptr &&
      !MayUseUnknown("driver function", name)) {
    return GoOn(reinterpret_cast<void*>(&FailLookup));
  }
  return GoOn(next);
}

// `found` is what `handle` has under that name.
Decision DecideFound(const char* name, const void* found, void* next) {
  const HookId id = FindHook(name);
  if (IsOurs(found)) {
    return DecideByScope(name, next);
  }
  const link_map* map = MapOf(found);
  const ElfImage image =
      map == nullptr ? ElfImage() : ElfImage(map->l_addr, reinterpret_cast<ElfW(Dyn)*>(map->l_ld));
  if (!image.is_ok() || !Equal(image.soname(), kDriverSoname)) {
    return GoOn(next);
  }
  if (!LoadDriver()) {
    static bool said;
    SayOnce(&said, Line().Add("libcuda.so.1 is loaded, but not where programs find it: "
                              "its functions are refused"));
    return GoOn(reinterpret_cast<void*>(&FailLookup));
  }
  if (!IsKnownName(name) && !MayUseUnknown("driver function", name)) {
    return GoOn(reinterpret_cast<void*>(&FailLookup));
  }
  if (id != kHookCount) {
    return Answer(HookOf(id).function);
  }
  if (image.base() == DriverImage().base()) {
    return GoOn(next);
  }
  RedirectCopy(image);
  void* target = TargetOf(name);
  return target != nullptr ? Answer(target) : GoOn(reinterpret_cast<void*>(&FailLookup));
}

bool IsScope(const void* handle) {
  return handle == RTLD_DEFAULT || handle == RTLD_NEXT;
}

Decision DecideNvml(void* handle, const char* name, void* next) {
  if (IsScope(handle)) {
    const ElfImage image = FindImage(kNvmlSoname);
    void* ours = image.is_ok() ? NvmlTarget(name, image) : nullptr;
    return ours != nullptr ? Answer(ours) : GoOn(next);
  }
  const void* found = CallDlsym(handle, name);
  const link_map* map = found == nullptr || IsOurs(found) ? nullptr : MapOf(found);
  const ElfImage image =
      map == nullptr ? ElfImage() : ElfImage(map->l_addr, reinterpret_cast<ElfW(Dyn)*>(map->l_ld));
  const bool is_nvml = image.is_ok() && Equal(image.soname(), kNvmlSoname);
  void* ours = is_nvml ? NvmlTarget(name, image) : nullptr;
  return ours != nullptr ? Answer(ours) : GoOn(next);
}

Decision DecideLookup(void* handle, const char* name, void* next) {
  if (name == nullptr) {
    return GoOn(next);
  }
  if (IsDriverName(name)) {
    if (IsScope(handle)) {
      return DecideByScope(name, next);
    }
    const void* found = CallDlsym(handle, name);
    return found == nullptr ? GoOn(next) : DecideFound(name, found, next);
  }
  if (name[0] == 'n' && StartsWith(name, "nvmlDeviceGetMemoryInfo")) {
    return DecideNvml(handle, name, next);
  }
  void* entry = name[0] == 'd' && name[1] == 'l' ? LoaderEntry(name) : nullptr;
  if (entry != nullptr && (IsScope(handle) || CallDlsym(handle, name) != nullptr)) {
    return Answer(entry);
  }
  return GoOn(next);
}

// A copy of the driver in another namespace would be another driver: every name of it leads to the
// first one, and what has been bound already is bound again. The new namespace has a C library of
// its own, whose look-ups we take over as well.
bool AdoptNamespace(const link_map* any) {
  while (any->l_prev != nullptr) {
    any = any->l_prev;
  }
  for (const link_map* map = any; map != nullptr; map = map->l_next) {
    const ElfImage image(map->l_addr, reinterpret_cast<ElfW(Dyn)*>(map->l_ld));
    if (!image.is_ok() || !Equal(image.soname(), kDriverSoname)) {
      continue;
    }
    if (!LoadDriver()) {
      return false;
    }
    RedirectCopy(image);
  }
  for (const link_map* map = any; map != nullptr; map = map->l_next) {
    const ElfImage image(map->l_addr, reinterpret_cast<ElfW(Dyn)*>(map->l_ld));
    // The loader itself is shared by all namespaces, and the C library calls no driver.
    if (!image.is_ok() || StartsWith(image.soname(), "ld-linux") ||
        Equal(image.soname(), "libc.so.6") || Equal(image.soname(), kDriverSoname)) {
      continue;
    }
    image.Rebind([](const char* name, uintptr_t /*bound*/) -> const void* {
      if (name[0] == 'd' && name[1] == 'l') {
        return LoaderEntry(name);
      }
      return IsDriverName(name) && EnsureDriver() ? TargetOf(name) : nullptr;
    });
  }
  return true;
}

}  // namespace
}  // namespace kgpu::preload

using kgpu::preload::GetLoader;
using kgpu::preload::GoOn;
using kgpu::preload::KeepErrno;

Decision KgpuDecideDlsym(void* handle, const char* name) {
  const KeepErrno keep;
  return kgpu::preload::DecideLookup(handle, name, GetLoader().dlsym);
}

Decision KgpuDecideDlvsym(void* handle, const char* name, const char* /*version*/) {
  const KeepErrno keep;
  return kgpu::preload::DecideLookup(handle, name, GetLoader().dlvsym);
}

// With RTLD_DEEPBIND a library is bound to the driver that it needs before anybody could look. So
// the driver comes first: then all that its symbols lead to are our stand-ins.
Decision KgpuDecideDlopen(const char* /*file*/, int mode) {
  const KeepErrno keep;
  if ((mode & RTLD_DEEPBIND) != 0) {
    (void)kgpu::preload::LoadDriver();
  }
  return GoOn(GetLoader().dlopen);
}

Decision KgpuDecideDlmopen(long space, const char* file, int mode) {
  const KeepErrno keep;
  using Dlmopen = void* (*)(long, const char*, int);
  auto* open = reinterpret_cast<Dlmopen>(GetLoader().dlmopen);
  if (space == LM_ID_BASE || open == nullptr) {
    (void)KgpuDecideDlopen(file, mode);
    return GoOn(GetLoader().dlmopen);
  }
  // Bound at once, so that everything can be bound again before the caller gets it.
  void* handle = open(space, file, (mode & ~RTLD_LAZY) | RTLD_NOW);
  if (handle == nullptr || kgpu::preload::AdoptNamespace(static_cast<const link_map*>(handle))) {
    return {handle, nullptr};
  }
  kgpu::preload::Line()
      .Add(
          "dlmopen: libcuda.so.1 in another namespace is refused, for it cannot be loaded in the "
          "program's own")
      .Say();
  reinterpret_cast<int (*)(void*)>(GetLoader().dlclose)(handle);
  return {nullptr, nullptr};
}
