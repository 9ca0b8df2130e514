// Messages between the state server and its clients: a header and a payload, native byte order
// (both ends are on one machine). <cstdint> and text only: the simulated libraries include it.
//   server → client  kHello (HelloPayload, with the state's memfd), kEvent (SimEvent), kChanged,
//   kReply client → server  kSubscribe (SubscribePayload), kCommand (text, command.h)
#pragma once

#include <cstdint>
#include <string_view>

namespace kgpu::sim {

enum FrameType : uint32_t {
  kHello = 1,
  kSubscribe = 2,
  kEvent = 3,
  kCommand = 4,
  kReply = 5,    // uint32_t absl::StatusCode, then text
  kChanged = 6,  // no payload: waiters check the state, for changes without an event
};

struct FrameHeader {
  uint32_t type;
  uint32_t size;  // of the payload
};

inline constexpr uint32_t kMaxPayload = 16384;

struct HelloPayload {
  uint64_t magic;   // kStateMagic
  uint32_t layout;  // kStateLayout
  uint32_t size;    // bytes of the memfd
};

struct SubscribePayload {
  uint64_t gpu_mask;     // bit i: the GPU in slot i
  uint64_t event_types;  // nvmlEventType* bits
};

// One message inside a buffer.
struct Frame {
  uint32_t type = 0;
  std::string_view payload;
};

enum class Decoded { kFrame, kIncomplete, kMalformed };

// Takes the first message of `buffer`; `used` is its length in bytes. kMalformed: the peer does not
// speak this protocol and must be dropped.
Decoded DecodeFrame(std::string_view buffer, Frame& frame, size_t& used);

}  // namespace kgpu::sim
