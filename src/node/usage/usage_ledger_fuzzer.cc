// The file of usage, which a full disk or a crash may have cut anywhere.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/usage/ledger_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = kgpu::usage::ParseLedger(text);
  if (!file.ok()) {
    return 0;
  }
  // A ledger that was read can be written, and read again.
  const std::string printed = kgpu::usage::PrintLedger(file->generation, file->ledger);
  const auto again = kgpu::usage::ParseLedger(printed);
  if (!again.ok() || kgpu::usage::PrintLedger(again->generation, again->ledger) != printed) {
    __builtin_trap();
  }
  return 0;
}
