// The probe's end of the socketpair: sends and receives whole frames. Both of the probe's threads
// send; a message of a SOCK_SEQPACKET socket is never torn or mixed.
#pragma once

#include "src/gpu/probe/protocol.h"

namespace kgpu::probe::child {

class Channel {
 public:
  // `fd` stays open as long as the channel is used.
  explicit Channel(int fd) : fd_(fd) {}

  // Fills in the header and sends `size` bytes that start with it. A parent that is gone ends the
  // process: there is nobody left to work for.
  void Send(void* frame, size_t size, FrameKind kind, uint32_t id) const;

  // The next request. False at the end of the parent, or when it breaks the protocol.
  bool Receive(RequestFrame* request) const;

 private:
  int fd_;
};

}  // namespace kgpu::probe::child
