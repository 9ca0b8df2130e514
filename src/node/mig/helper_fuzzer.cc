#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/mig/helper.h"

// Requests to the helper, which are also the file about an interrupted change, and its replies.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = kgpu::mig::ParseRequest(text); request.ok()) {
    const auto again = kgpu::mig::ParseRequest(kgpu::mig::PrintRequest(*request));
    if (!again.ok() || *again != *request) {
      abort();
    }
  }
  if (const auto reply = kgpu::mig::ParseReply(text); reply.ok()) {
    const auto again = kgpu::mig::ParseReply(kgpu::mig::PrintReply(*reply));
    if (!again.ok() || *again != *reply) {
      abort();
    }
  }
  return 0;
}
