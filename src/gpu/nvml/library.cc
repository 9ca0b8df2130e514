#include "src/gpu/nvml/library.h"

#include <cstdio>

namespace kgpu::nvml {

bool Library::Load(const char* path) {
  if (handle_ != nullptr) {
    return true;
  }
  // RTLD_LOCAL: the library's symbols must not replace those of a library that it loads itself.
  handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    // One text per thread in glibc and musl.
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe)
    (void)snprintf(error_, sizeof(error_), "%s", why == nullptr ? path : why);
  }
  return handle_ != nullptr;
}

void* Library::Find(const char* name, const char* older_name) const {
  if (handle_ == nullptr) {
    return nullptr;
  }
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr && older_name != nullptr) {
    symbol = dlsym(handle_, older_name);
  }
  return symbol;
}

}  // namespace kgpu::nvml
