#include "src/gpu/probe/child/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kgpu::probe::child {

void Channel::Send(void* frame, size_t size, FrameKind kind, uint32_t id) const {
  const FrameHeader header{.magic = kMagic,
                           .version = kProtocolVersion,
                           .kind = static_cast<uint16_t>(kind),
                           .size = static_cast<uint32_t>(size),
                           .id = id};
  memcpy(frame, &header, sizeof(header));
  ssize_t sent = 0;
  do {
    sent = send(fd_, frame, size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    _exit(0);
  }
}

bool Channel::Receive(RequestFrame* request) const {
  ssize_t got = 0;
  do {
    got = recv(fd_, request, sizeof(*request), 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof(*request)) && request->header.magic == kMagic &&
         request->header.version == kProtocolVersion &&
         request->header.kind == static_cast<uint16_t>(FrameKind::kRequest);
}

}  // namespace kgpu::probe::child
