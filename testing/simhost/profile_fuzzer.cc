// Profile and model files: any bytes give a value or a status, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "testing/simhost/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(kgpu::simhost::ParseGpuModel(text, "fuzzed"));
  static_cast<void>(
      kgpu::simhost::ParseProfile(text, "fuzzed.yaml", kgpu::simhost::BuiltinModelText));
  return 0;
}
