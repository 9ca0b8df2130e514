// The content of /var/lib/kgpu/node/record.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/setup/bringup/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = kgpu::bringup::ParseRecord(text, "record.json");
  if (record.ok()) {
    const auto again =
        kgpu::bringup::ParseRecord(kgpu::bringup::PrintRecord(*record), "record.json");
    if (!again.ok() || *again != *record) {
      __builtin_trap();
    }
  }
  return 0;
}
