#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/facts/os_release.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& [name, value] : kgpu::host::ParseOsRelease(text)) {
    // The result holds nothing that was not in the input.
    if (name.empty() || value.size() > size) {
      __builtin_trap();
    }
  }
  return 0;
}
