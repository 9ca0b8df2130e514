// What a control daemon prints and a record hold: whatever it is, what comes out is within bounds,
// and a record is the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/mps/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::mps;  // NOLINT(google-build-using-namespace): of the one module tested
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto state = ParseControlState(text); state.ok()) {
    if (state->servers.size() > kMostServers || state->threads < 0 || state->threads > 101) {
      std::abort();
    }
  }
  (void)IsFaulted(text);
  if (const auto record = ParseRecord(text); record.ok()) {
    const auto again = ParseRecord(RecordText(*record));
    if (!again.ok() || *again != *record) {
      std::abort();
    }
  }
  return 0;
}
