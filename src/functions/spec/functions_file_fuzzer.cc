// First byte: the format. A file that is read must print, and read back to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/functions/spec/function_check.h"
#include "src/functions/spec/functions_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::doc::Format;
  if (size == 0 || size > 1 << 16) {
    return 0;
  }
  const std::string_view name = data[0] % 2 == 0 ? "fuzz.json" : "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto file = kgpu::functions::ParseFunctionsFile(text, name);
  if (!file.ok()) {
    return 0;
  }
  for (const kgpu::functions::Function& function : file->functions) {
    if (!kgpu::functions::CheckFunction(function).ok()) {
      std::abort();
    }
  }
  for (const Format format : {Format::kYaml, Format::kJson}) {
    const auto again =
        kgpu::functions::ParseFunctionsFile(kgpu::functions::PrintFunctionsFile(*file, format),
                                            format == Format::kJson ? "again.json" : "again.yaml");
    if (!again.ok() || !(*again == *file)) {
      std::abort();
    }
  }
  return 0;
}
