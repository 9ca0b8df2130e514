// A file of the gateway's tokens: whatever it holds, what comes out can be a token of a request.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/functions/gateway/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::gateway;
  const auto lines = ParseTokens(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!lines.ok()) {
    return 0;
  }
  if (lines->empty() || lines->size() > kMaxTokens) {
    std::abort();
  }
  for (const TokenLine& line : *lines) {
    const bool is_token = !line.token.empty() && line.token.size() <= kMaxTokenSize &&
                          line.token.find_first_of(" \t\r\n") == std::string::npos;
    if (!is_token || line.grant.roles.empty()) {
      std::abort();
    }
    // Written again, it is the same line.
    std::string text = line.token;
    for (const Role role : line.grant.roles) {
      text += text.size() == line.token.size() ? " " : ",";
      text += NameOf(role);
    }
    text += line.grant.space.empty() ? "" : " namespace=" + line.grant.space;
    const auto again = ParseTokens(text);
    if (!again.ok() || again->size() != 1 || again->front().token != line.token ||
        again->front().grant != line.grant) {
      std::abort();
    }
  }
  return 0;
}
