// A container's ledger, which its programs can write anything into.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/slices/ledger_figures.h"
#include "src/preload/ledger.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto figures = kgpu::slices::ParseLedgerFigures(bytes);
  if (figures && size < sizeof(kgpu::preload::LedgerHeader)) {
    __builtin_trap();
  }
  return 0;
}
