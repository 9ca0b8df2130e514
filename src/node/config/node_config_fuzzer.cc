// First byte: the format. A configuration that is read must print, and read back to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/config/node_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::doc::Format;
  if (size == 0 || size > 1 << 16) {
    return 0;
  }
  const std::string_view file = data[0] % 2 == 0 ? "fuzz.json" : "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto config = kgpu::config::ParseNodeConfig(text, file);
  if (!config.ok()) {
    return 0;
  }
  for (const Format format : {Format::kYaml, Format::kJson}) {
    const auto again =
        kgpu::config::ParseNodeConfig(kgpu::config::PrintNodeConfig(*config, format),
                                      format == Format::kJson ? "again.json" : "again.yaml");
    if (!again.ok() || !(*again == *config)) {
      std::abort();
    }
  }
  return 0;
}
