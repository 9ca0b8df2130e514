// What a client reads from a server's bytes does not depend on how they are split into pieces. The
// first byte is the size of the pieces, and whether the request was HEAD.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/platform/net/http/parser.h"

namespace {

using kgpu::http::ParseState;

bool IsOpen(const kgpu::http::ResponseParser& parser) {
  return parser.state() == ParseState::kHeader || parser.state() == ParseState::kBody;
}

std::string ReadOf(std::string_view bytes, size_t step, bool is_head) {
  kgpu::http::ResponseParser parser({.header = 512, .body = 1024}, is_head);
  size_t begin = 0;
  for (size_t end = 0; end < bytes.size() && IsOpen(parser);) {
    end = std::min(end + step, bytes.size());
    size_t taken = 1;
    while (taken > 0 && begin < end && IsOpen(parser)) {
      taken = parser.Feed(bytes.substr(begin, end - begin));
      begin += taken;
    }
  }
  if (IsOpen(parser)) {
    parser.FeedEnd();
  }
  if (parser.state() == ParseState::kRefused) {
    return parser.refusal().reason;
  }
  const kgpu::http::Response response = parser.Take();
  std::string text = std::to_string(response.code) + "\n";
  for (const auto& [name, value] : response.headers.fields()) {
    text += name + ":" + value + "\n";
  }
  return text + response.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const bool is_head = data[0] % 8 == 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = ReadOf(bytes, std::max<size_t>(bytes.size(), 1), is_head);
  if (ReadOf(bytes, size_t{data[0]} + 1, is_head) != whole || ReadOf(bytes, 1, is_head) != whole) {
    std::abort();
  }
  return 0;
}
