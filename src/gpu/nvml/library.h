// NVIDIA's library, loaded from a given file; looks symbols up when they are called. Probe process
// only: no other program of ours loads it. Uses libc only (no libstdc++ at run time).
#pragma once

#include <dlfcn.h>

#include "src/gpu/nvml/functions.h"

namespace kgpu::nvml {

// Never unloaded: NVML may leave threads and exit handlers behind; the process ends instead.
// Thread: any; NVML itself is thread-safe after nvmlInit. Source: dlopen(3).
class Library {
 public:
  // True if `path` was loaded; otherwise see error(). Loading again is a no-op.
  bool Load(const char* path);
  bool is_loaded() const { return handle_ != nullptr; }
  // The loader's message for the last failed Load; empty if there was none.
  const char* error() const { return error_; }

  // Calls `function`; returns kErrorFunctionNotFound if the library has none of its names, or is
  // not loaded. Each call looks the symbol up, which costs a hash: no pointer can go stale.
  template <typename Fn, typename... Args>
  Return Call(const Function<Fn>& function, Args... args) const {
    void* symbol = Find(function.name, function.older_name);
    if (symbol == nullptr) {
      return kErrorFunctionNotFound;
    }
    return reinterpret_cast<Fn*>(symbol)(args...);
  }

 private:
  void* Find(const char* name, const char* older_name) const;

  void* handle_ = nullptr;
  char error_[256] = {};
};

}  // namespace kgpu::nvml
