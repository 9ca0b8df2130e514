#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/facts/distribution.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/module_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (kgpu::driver::ParseModinfo(text).kernel().size() > size) {
    __builtin_trap();
  }
  for (const kgpu::driver::DkmsEntry& entry : kgpu::driver::ParseDkmsStatus(text)) {
    if (entry.module.empty() || entry.version.empty()) {
      __builtin_trap();
    }
  }
  (void)kgpu::driver::FlavourOf(text);
  (void)kgpu::host::ParseDistribution(text);
  return 0;
}
