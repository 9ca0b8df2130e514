// A worker's bytes give the same frames however they are split, and each frame that is understood
// gives the same bytes again. The first byte is the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/functions/watchdog/call_text.h"
#include "src/functions/watchdog/frame.h"

namespace {

using kgpu::watchdog::FrameDecoder;
using kgpu::watchdog::FrameType;

// All frames as the bytes they came from, and the error.
std::string Decode(std::string_view bytes, size_t step) {
  FrameDecoder decoder;
  std::string seen;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    std::ranges::copy(piece, decoder.Room(piece.size()).begin());
    decoder.Commit(piece.size());
    bytes.remove_prefix(piece.size());
    while (true) {
      const auto frame = decoder.Next();
      if (!frame.ok()) {
        return seen + std::string(kgpu::Message(frame.status()));
      }
      if (!frame->has_value()) {
        break;
      }
      kgpu::watchdog::AppendFrame(seen, (**frame).type, (**frame).call, (**frame).payload);
      if ((**frame).type == FrameType::kReady) {
        (void)kgpu::watchdog::ParseReady((**frame).payload);
      } else if ((**frame).type == FrameType::kHead) {
        (void)kgpu::watchdog::ParseHead((**frame).payload);
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Decode(bytes, std::max<size_t>(bytes.size(), 1));
  if (Decode(bytes, size_t{data[0]} + 1) != whole) {
    std::abort();
  }
  return 0;
}
