#include "testing/driver/protocol.h"

#include <cstring>

namespace kgpu::sim {

Decoded DecodeFrame(std::string_view buffer, Frame& frame, size_t& used) {
  FrameHeader header = {};
  if (buffer.size() < sizeof(header)) {
    return Decoded::kIncomplete;
  }
  std::memcpy(&header, buffer.data(), sizeof(header));
  if (header.type < kHello || header.type > kMemoryReply || header.size > kMaxPayload) {
    return Decoded::kMalformed;
  }
  if (buffer.size() - sizeof(header) < header.size) {
    return Decoded::kIncomplete;
  }
  frame.type = header.type;
  frame.payload = buffer.substr(sizeof(header), header.size);
  used = sizeof(header) + header.size;
  return Decoded::kFrame;
}

}  // namespace kgpu::sim
