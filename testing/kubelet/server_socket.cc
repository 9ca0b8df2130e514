#include "testing/kubelet/server_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {
namespace {

constexpr int kBacklog = 128;

// Through the folder's descriptor: an address holds 107 bytes, a temporary folder's path may not.
Status BindTo(int fd, const std::string& path) {
  const std::filesystem::path whole(path);
  const UniqueFd folder(open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", whole.parent_path().string()));
  }
  const std::string address =
      fmt::format("/proc/self/fd/{}/{}", folder.get(), whole.filename().string());
  sockaddr_un un = {};
  un.sun_family = AF_UNIX;
  if (address.size() >= sizeof(un.sun_path)) {
    return InvalidArgument("{}: the socket's name is too long", path);
  }
  std::memcpy(un.sun_path, address.data(), address.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&un), sizeof(un)) != 0) {
    return ErrnoStatus(errno, fmt::format("bind {}", path));
  }
  return OkStatus();
}

// Whether both sides are done with it.
bool IsOver(const UniqueFd& connection) {
  pollfd polled{.fd = connection.get(), .events = 0, .revents = 0};
  return poll(&polled, 1, 0) == 1 && (polled.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

StatusOr<std::unique_ptr<ServerSocket>> ServerSocket::Bind(EventLoop& loop, const std::string& path,
                                                           Handler handler) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "create a socket");
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove {}", path));
  }
  RETURN_IF_ERROR(BindTo(fd.get(), path));
  return std::unique_ptr<ServerSocket>(new ServerSocket(loop, std::move(fd), std::move(handler)));
}

ServerSocket::~ServerSocket() {
  loop_.Unwatch(watch_);
}

Status ServerSocket::Listen() {
  if (listen(fd_.get(), kBacklog) != 0) {
    return ErrnoStatus(errno, "listen");
  }
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(fd_.get(), [this] { Accept(); }));
  return OkStatus();
}

void ServerSocket::CutConnections() {
  for (const UniqueFd& connection : std::exchange(connections_, {})) {
    (void)shutdown(connection.get(), SHUT_RDWR);
  }
}

void ServerSocket::Accept() {
  UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.is_valid()) {
    return;
  }
  std::erase_if(connections_, IsOver);
  connections_.emplace_back(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  handler_(std::move(fd));
}

}  // namespace kgpu::kubelet
