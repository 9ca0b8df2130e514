// A file with tokens: whatever it holds, what comes out can be a token of a request.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/agent/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::agent;
  const auto tokens = ParseTokenFile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!tokens.ok()) {
    return 0;
  }
  if (tokens->empty() || tokens->size() > kMaxFileTokens) {
    std::abort();
  }
  for (const std::string& token : *tokens) {
    if (token.size() > kMaxToken || token.find_first_of(" \t\r\n") != std::string::npos) {
      std::abort();
    }
    // One alone is the same token again.
    const auto again = ParseTokenFile(token);
    if (!again.ok() || again->size() != 1 || again->front() != token) {
      std::abort();
    }
  }
  return 0;
}
