// First byte: the format. A spec that reads must print, and read back as the same spec.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/container/cdi/spec_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::doc::Format;
  if (size == 0) {
    return 0;
  }
  const Format format = data[0] == 'y' ? Format::kYaml : Format::kJson;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto spec = kgpu::cdi::ParseSpec(text, format, "fuzz");
  if (!spec.ok()) {
    return 0;
  }
  kgpu::cdi::Validate(*spec).IgnoreError();
  for (const Format out : {Format::kJson, Format::kYaml}) {
    const auto again = kgpu::cdi::ParseSpec(kgpu::cdi::PrintSpec(*spec, out), out, "again");
    if (!again.ok() || *again != *spec) {
      std::abort();
    }
  }
  return 0;
}
