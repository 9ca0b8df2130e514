// An index that reads must print, and read back as the same index; any capabilities choose from it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/container/inject/index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = kgpu::inject::ParseIndex(text, "fuzz");
  if (!index.ok()) {
    return 0;
  }
  const auto again = kgpu::inject::ParseIndex(kgpu::inject::PrintIndex(*index), "again");
  if (!again.ok() || *again != *index) {
    std::abort();
  }
  const auto all = kgpu::inject::MountsFor(*index, kgpu::inject::kAllCapabilities);
  if (kgpu::inject::MountsFor(*index, kgpu::inject::kDefaultCapabilities).size() > all.size()) {
    std::abort();
  }
  return 0;
}
