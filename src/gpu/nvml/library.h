// NVIDIA's library, loaded from a given file and called through lazily looked-up symbols. Probe
// process only: no other program of ours maps it. Uses libc only (no libstdc++ at run time).
#pragma once

#include <dlfcn.h>

#include "src/gpu/nvml/functions.h"

namespace kgpu::nvml {

// Never unloaded: NVML may leave threads and exit handlers behind; the process ends instead.
// Thread: any; NVML itself is thread-safe after nvmlInit. Source: dlopen(3).
class Library {
 public:
  // True when `path` could be loaded; otherwise error() says why. Loading again is a no-op.
  bool Load(const char* path);
  bool is_loaded() const { return handle_ != nullptr; }
  // The loader's text of the last failed Load; empty when there was none.
  const char* error() const { return error_; }

  // Calls `function`; kErrorFunctionNotFound when the library has none of its names, or is not
  // loaded. Looking a name up costs a hash and is done at each call: nothing can go stale.
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
