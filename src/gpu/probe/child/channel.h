// The probe's end of the socketpair: sends and receives whole frames. Both of the probe's threads
// send; SOCK_SEQPACKET messages are never torn or interleaved.
#pragma once

#include "src/gpu/probe/protocol.h"

namespace kgpu::probe::child {

class Channel {
 public:
  // `fd` must stay open as long as the channel is used.
  explicit Channel(int fd) : fd_(fd) {}

  // Fills in the header and sends `size` bytes, starting with it. If the parent is gone, the
  // process exits: there is nobody left to work for.
  void Send(void* frame, size_t size, FrameKind kind, uint32_t id) const;

  // The next request. False if the parent is gone or breaks the protocol.
  bool Receive(RequestFrame* request) const;

 private:
  int fd_;
};

}  // namespace kgpu::probe::child
