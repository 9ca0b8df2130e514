// The ledger of lent GPUs, as somebody else may have left it.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "src/node/loans/ledger.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ledger = kgpu::loans::ParseLedger(text, "loans.json");
  if (!ledger.ok()) {
    return 0;
  }
  std::set<std::string> gpus;
  for (const kgpu::loans::Loan& loan : ledger->loans()) {
    for (const auto& gpu : loan.gpus) {
      if (!gpus.insert(gpu.str()).second) {
        __builtin_trap();  // lent twice
      }
    }
  }
  const auto again = kgpu::loans::ParseLedger(kgpu::loans::PrintLedger(*ledger), "loans.json");
  if (!again.ok() || *again != *ledger) {
    __builtin_trap();
  }
  return 0;
}
