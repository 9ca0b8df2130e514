// First byte: whose configuration, and its format. What converts must be a legal NodeConfig.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/config/gke_config.h"
#include "src/node/config/nvidia_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace config = kgpu::config;
  if (size == 0 || size > 1 << 16) {
    return 0;
  }
  const std::string_view file = data[0] % 2 == 0 ? "fuzz.json" : "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)config::DetectDialect(text, file);
  const auto converted = data[0] / 2 % 2 == 0 ? config::ConvertNvidiaConfig(text, file)
                                              : config::ConvertGkeConfig(text, file);
  if (!converted.ok()) {
    return 0;
  }
  const auto again =
      config::ParseNodeConfig(config::PrintNodeConfig(converted->config), "again.yaml");
  if (!again.ok() || !(*again == converted->config)) {
    std::abort();
  }
  return 0;
}
