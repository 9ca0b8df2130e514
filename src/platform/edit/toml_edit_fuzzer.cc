// First four bytes: what is set, see StepOf in test_edits.cc, and with the highest bit of the first
// that the text is a template; the rest: the text.
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
  const bool is_template = data[0] >= 0x80;
  const std::string wrong = kgpu::edit::CheckEdits(
      input.substr(4), is_template ? kgpu::edit::Syntax::kTomlTemplate : kgpu::edit::Syntax::kToml,
      input.substr(0, 4));
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
