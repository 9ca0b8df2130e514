// First four bytes: what is set, see StepOf in test_edits.cc; the rest: the text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "src/platform/edit/test_edits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string wrong =
      kgpu::edit::CheckEdits(input.substr(4), kgpu::edit::Syntax::kJson, input.substr(0, 4));
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
