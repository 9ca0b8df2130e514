// Every reader of /proc text gets the same input: each must refuse or ignore the others' files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/inspect/driver_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kgpu::host::ParseModules(text);
  kgpu::host::ParseNvrmVersion(text).IgnoreError();
  kgpu::host::ParseCharMajors(text);
  kgpu::host::ParseCapMinor(text).IgnoreError();
  kgpu::host::IsDriverVersion(text);
  return 0;
}
