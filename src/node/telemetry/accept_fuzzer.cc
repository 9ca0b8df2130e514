// The fields by which a scraper says what it takes: any bytes, and reading them ends.
#include <cstdint>
#include <string_view>

#include "src/node/telemetry/accept.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kgpu::http::Headers headers;
  headers.Add("Accept", text);
  headers.Add("Accept-Encoding", text);
  (void)kgpu::telemetry::WantedBy(headers);
  return 0;
}
