// A request that is read must be one that config.yaml could describe, and survive being sent on.
#include <boost/json/object.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/functions/spec/function_check.h"
#include "src/functions/spec/wire.h"
#include "src/platform/doc/doc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto function = kgpu::functions::ParseWire(text, "fuzz");
  if (!function.ok()) {
    return 0;
  }
  if (!kgpu::functions::CheckFunction(*function).ok()) {
    std::abort();
  }
  const auto again =
      kgpu::functions::ParseWire(kgpu::doc::PrintLine(kgpu::functions::ToWire(*function)), "again");
  if (!again.ok() || !(*again == *function)) {
    std::abort();
  }
  return 0;
}
