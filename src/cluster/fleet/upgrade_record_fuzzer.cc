// Annotations that anybody may have edited: what is read prints, and reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/cluster/fleet/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = kgpu::fleet::ParseUpgradeRecord(text); record.ok()) {
    const auto again = kgpu::fleet::ParseUpgradeRecord(kgpu::fleet::PrintRecord(*record));
    if (!again.ok() || again->to != record->to || again->state != record->state) {
      std::abort();
    }
  }
  if (const auto record = kgpu::fleet::ParseFenceRecord(text); record.ok()) {
    if (!kgpu::fleet::ParseFenceRecord(kgpu::fleet::PrintRecord(*record)).ok()) {
      std::abort();
    }
  }
  return 0;
}
