#include "testing/driver/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/driver/protocol.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

namespace {

StatusOr<std::string> TextOfReply(std::string_view payload) {
  uint32_t code = 0;
  if (payload.size() < sizeof(code)) {
    return Unavailable("the state server's reply is truncated");
  }
  std::memcpy(&code, payload.data(), sizeof(code));
  const std::string_view text = payload.substr(sizeof(code));
  if (code != 0) {
    return MakeStatus(static_cast<StatusCode>(code), text);
  }
  return std::string(text);
}

}  // namespace

StatusOr<ControlClient> ControlClient::Connect(const std::string& root,
                                               std::chrono::milliseconds limit) {
  auto fd = sys::ConnectUnix(fmt::format("{}/{}", root, kSocketPath));
  if (!fd.ok()) {
    return Unavailable("no simulated driver answers below {}: run `kgpu sim start {}` ({})", root,
                       root, Message(fd.status()));
  }
  // From here on calls wait, up to their limit.
  if (fcntl(fd->get(), F_SETFL, 0) != 0) {
    return ErrnoStatus(errno, "fcntl F_SETFL");
  }
  timeval wait = {};
  wait.tv_sec = limit.count() / 1000;
  wait.tv_usec = limit.count() % 1000 * 1000;
  if (setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0) {
    return ErrnoStatus(errno, "setsockopt SO_RCVTIMEO");
  }
  return ControlClient(*std::move(fd));
}

StatusOr<std::string> ControlClient::Run(std::string_view command_line) {
  if (command_line.size() > kMaxPayload) {
    return InvalidArgument("a command can have at most {} bytes", kMaxPayload);
  }
  const FrameHeader header = {kCommand, static_cast<uint32_t>(command_line.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += command_line;
  if (send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    return Unavailable("the state server has closed the connection");
  }
  for (;;) {
    Frame frame;
    size_t used = 0;
    const Decoded decoded = DecodeFrame(input_, frame, used);
    if (decoded == Decoded::kMalformed) {
      return Unavailable("not a state server of this version");
    }
    if (decoded == Decoded::kFrame) {
      const uint32_t type = frame.type;
      auto reply = TextOfReply(frame.payload);
      input_.erase(0, used);
      if (type == kReply) {
        return reply;
      }
      continue;  // the hello; its descriptor was not asked for
    }
    char buffer[4096];
    const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return DeadlineExceeded("the state server does not answer");
    }
    if (got <= 0) {
      return Unavailable("the state server has closed the connection");
    }
    input_.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace kgpu::sim
