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
  std::set<std::string> whole;
  std::set<std::string> cut;
  std::set<std::string> slots;
  for (const kgpu::loans::Loan& loan : ledger->loans()) {
    for (const auto& slice : loan.slices) {
      if (!slots.insert(slice.id).second) {
        __builtin_trap();  // lent twice
      }
    }
    for (const auto& gpu : loan.gpus) {
      const bool is_new =
          loan.slices.empty() ? whole.insert(gpu.str()).second : (cut.insert(gpu.str()), true);
      if (!is_new || (whole.contains(gpu.str()) && cut.contains(gpu.str()))) {
        __builtin_trap();  // lent twice, or whole and by slices
      }
    }
  }
  const auto again = kgpu::loans::ParseLedger(kgpu::loans::PrintLedger(*ledger), "loans.json");
  if (!again.ok() || *again != *ledger) {
    __builtin_trap();
  }
  return 0;
}
