#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/agent/mig_layouts.h"
#include "src/agent/mig_plan.h"

// What `kgpu mig` prints, and the file about an interrupted change.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kgpu::agent::ParseMigPlan(text);
  if (const auto begun = kgpu::agent::ParseBegun(text); begun.ok()) {
    const auto again = kgpu::agent::ParseBegun(kgpu::agent::PrintBegun(*begun));
    if (!again.ok() || *again != *begun) {
      abort();
    }
  }
  return 0;
}
