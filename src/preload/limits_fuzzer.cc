#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "src/preload/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kgpu::preload::Limits limits;
  const char* problem =
      kgpu::preload::ParseLimits(reinterpret_cast<const char*>(data), size, &limits);
  // Whatever is accepted has a limit, and a device that ends.
  if (problem == nullptr && (limits.memory == 0 || limits.device[0] == '\0' ||
                             limits.device[sizeof(limits.device) - 1] != '\0')) {
    abort();
  }
  return 0;
}
