// A file with tokens: whatever it holds, what comes out can be a token of a request.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/node/telemetry/token_file.h"

using kgpu::telemetry::kMaxFileTokens;
using kgpu::telemetry::kMaxToken;
using kgpu::telemetry::ParseTokenFile;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto list = ParseTokenFile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!list.ok()) {
    return 0;
  }
  if (list->tokens.empty() || list->tokens.size() > kMaxFileTokens) {
    std::abort();
  }
  for (const std::string& token : list->tokens) {
    if (token.size() > kMaxToken || token.find_first_of(" \t\r\n") != std::string::npos) {
      std::abort();
    }
    // One alone is the same token again.
    const auto again = ParseTokenFile(token);
    if (!again.ok() || again->tokens.size() != 1 || again->tokens.front() != token) {
      std::abort();
    }
  }
  return 0;
}
