// Messages between the state server and its clients: a header and a payload, native byte order
// (both ends are on one machine). <cstdint> and text only: the simulated libraries include it.
//   server → client  kHello (HelloPayload, with the state's memfd), kEvent (SimEvent), kChanged,
//   kReply, kMemoryReply (MemoryReply; a memory object's memfd with it)
//   client → server  kSubscribe (SubscribePayload), kCommand (text, command.h), kMemory
//   (MemoryRequest)
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
  kMemory = 7,
  kMemoryReply = 8,
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

// What a CUDA process does with the memory of a GPU. All of it is given back when its connection
// ends. A memory object is memory that several processes may use: it counts once, for the first of
// them, and lives until the last of them has detached.
enum MemoryOperation : uint32_t {
  kCharge = 1,        // `bytes` more
  kRefund = 2,        // `bytes` less
  kMakeObject = 3,    // `bytes` as a new object, attached to this process
  kMoveToObject = 4,  // the same, of bytes that this process has charged
  kAttach = 5,        // `object` with `key`, which has been made by any process
  kDetach = 6,        // one attachment less
  kAskSpace = 7,      // how much there is: `free` and `total` of the reply
};

struct MemoryRequest {
  uint64_t number;     // any; comes back in the reply
  uint32_t operation;  // MemoryOperation
  uint32_t slot;       // of the GPU
  uint32_t incarnation;
  uint32_t gpu_instance;  // kUnsupported: the whole GPU
  uint32_t compute_instance;
  uint32_t padding;
  uint64_t bytes;
  uint64_t object;
  uint64_t key;
};

enum MemoryResult : uint32_t {
  kMemoryDone = 0,
  kMemoryExhausted = 1,  // the GPU or GPU instance has less, or no place for one more process
  kMemoryNoGpu = 2,      // no such GPU or instance, or in another state than the client assumes
  kMemoryNoObject = 3,
  kMemoryInvalid = 4,  // more is given back than there is; no such operation
  kMemoryTooMany = 5,  // objects
};

struct MemoryReply {
  uint64_t number;
  uint32_t result;  // MemoryResult
  uint32_t slot;    // of the object
  uint32_t incarnation;
  uint32_t gpu_instance;
  uint64_t bytes;
  uint64_t object;
  uint64_t key;
  uint64_t free;
  uint64_t total;
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
