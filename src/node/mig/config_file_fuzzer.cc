// Any text as a file of mig-parted: configurations, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/mig/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kgpu::mig::ParseConfigs(text, "x.yaml");
  (void)kgpu::mig::ParseEntries(text);
  return 0;
}
