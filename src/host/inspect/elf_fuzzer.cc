#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/inspect/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kgpu::host::ParseElf(std::string_view(reinterpret_cast<const char*>(data), size)).IgnoreError();
  return 0;
}
