// Any bytes are a message or an error; what is read of one can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/functions/watchdog/fx_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input =
      kgpu::watchdog::InputOf(std::string_view(reinterpret_cast<const char*>(data), size));
  if (input.ok() && kgpu::watchdog::InputOf(kgpu::watchdog::ReplyOf(*input)).value() != *input) {
    std::abort();
  }
  return 0;
}
