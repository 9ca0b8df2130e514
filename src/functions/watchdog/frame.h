// Frames between the watchdog and its workers: u32 payload length, u8 type, u8 0, u16 0, u32 call
// id, payload; little-endian. docs/how-it-works/function-watchdog.md has the whole protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::watchdog {

inline constexpr size_t kFrameHead = 12;
inline constexpr size_t kMaxPayload = size_t{1} << 20;

enum class FrameType : char {
  // To a worker.
  kCall = 'C',    // a call begins: JSON, see call_text.h
  kGiveUp = 'X',  // nobody waits for the call's answer
  kQuit = 'Q',    // end when all calls are done
  // From a worker.
  kReady = 'R',   // JSON
  kHead = 'H',    // JSON: status and headers; optional, before data
  kFailed = 'F',  // the handler failed: text; ends the call
  // Both ways.
  kData = 'D',
  kEnd = 'E',  // of the input, or of the call
};

// The id is 0 for frames that concern no call.
struct Frame {
  FrameType type = FrameType::kData;
  uint32_t call = 0;
  std::string_view payload{};
};

void AppendFrameHead(std::string& out, FrameType type, uint32_t call, size_t payload);
// `payload` is at most kMaxPayload.
void AppendFrame(std::string& out, FrameType type, uint32_t call, std::string_view payload);

// Cuts a worker's bytes into frames. Any bytes are either frames or an error; how they are split
// makes no difference.
class FrameDecoder {
 public:
  // Where the next bytes go: read into it, then Commit. Invalidates the payloads given so far.
  std::span<char> Room(size_t size);
  void Commit(size_t count) { end_ += count; }

  // The next complete frame; nothing if more bytes are needed. Errors: InvalidArgument (not a frame
  // that a worker sends); every later call returns the same.
  StatusOr<std::optional<Frame>> Next();

 private:
  std::string buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  Status status_;
};

}  // namespace kgpu::watchdog
