#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/setup/driver_install/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::driver_install;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto journal = ParseJournal(text, "f");
  if (!journal.ok()) {
    return 0;
  }
  // A journal that was read is the same after it is printed and read again.
  const auto again = ParseJournal(PrintJournal(*journal), "f");
  if (!again.ok() || !(*again == *journal) || journal->steps.size() != journal->plan.steps.size()) {
    __builtin_trap();
  }
  return 0;
}
