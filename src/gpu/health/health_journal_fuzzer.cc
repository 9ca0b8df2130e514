// A journal as a power cut, a full disk or somebody else may have left it: never a crash, and what
// was read is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/gpu/health/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::health::ParseJournal;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kgpu::health::JournalText journal = ParseJournal(text);
  std::string once;
  for (const auto& entry : journal.entries) {
    once += kgpu::health::PrintJournalLine(entry);
  }
  const kgpu::health::JournalText again = ParseJournal(once);
  std::string twice;
  for (const auto& entry : again.entries) {
    twice += kgpu::health::PrintJournalLine(entry);
  }
  const bool is_bounded =
      kgpu::health::KeepNewest(again.entries, size / 2).size() <= again.entries.size();
  // Texts are cut once at most.
  if (again.bad_lines != 0 || again.entries.size() != journal.entries.size() || once != twice ||
      !is_bounded) {
    __builtin_trap();
  }
  return 0;
}
