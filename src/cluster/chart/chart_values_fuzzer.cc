// First byte: whether the rest is a values file or a setting. Values that are accepted render, or
// break the YAML of a template, which is an error too.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/cluster/chart/chart.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 12) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kgpu::chart::ValuesRequest request;
  if (data[0] % 2 == 0) {
    request.files = {{.name = "fuzz.yaml", .text = text}};
  } else {
    request.settings = {text};
  }
  const auto values = kgpu::chart::ReadValues(request);
  if (!values.ok()) {
    return 0;
  }
  const auto manifests = kgpu::chart::Render(*values);
  if (manifests.ok() && manifests->empty()) {
    std::abort();
  }
  return 0;
}
