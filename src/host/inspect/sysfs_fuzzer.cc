// Every reader of sysfs files gets the same input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/inspect/device_nodes.h"
#include "src/host/inspect/pci.h"
#include "src/host/inspect/vgpu.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kgpu::host::ParsePciConfig(bytes).IgnoreError();
  kgpu::host::ParsePciResources(bytes);
  kgpu::host::ParseVgpuCapability(bytes);
  kgpu::host::NumberedNode(bytes, "nvidia");
  return 0;
}
