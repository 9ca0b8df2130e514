// TCP sockets with numeric addresses: names would need DNS look-ups, which block.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// An IP address and a port.
class TcpAddress {
 public:
  // "127.0.0.1:9401", "[::1]:9401"; ":9401" means every address of the host, IPv4 and IPv6. Errors:
  // InvalidArgument.
  static StatusOr<TcpAddress> Parse(std::string_view text);

  std::string str() const;
  // Whether it means every address of the host, IPv4 and IPv6.
  bool is_any() const { return is_any_; }
  // Whether only programs of this host reach it: 127.0.0.0/8 or ::1.
  bool is_loopback() const;
  const sockaddr* base() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

 private:
  friend class TcpListener;
  sockaddr_storage storage_ = {};
  socklen_t size_ = 0;
  bool is_any_ = false;
};

// A non-blocking socket that connects to `address`: once it is writable, it has connected or
// failed. Errors: Unavailable, ResourceExhausted.
StatusOr<UniqueFd> StartConnectTcp(const TcpAddress& address);
// The result of that. Errors: Unavailable (nobody listens there).
Status ConnectResult(const UniqueFd& socket, const TcpAddress& address);

// The IP address of a connected socket's other end, without its port: "10.0.0.7", "::1". An IPv4
// address of a socket for both families is shown as one. Empty for other sockets.
std::string PeerAddress(int socket);
// Whether bytes of the other end wait to be read; its end is none.
bool HasUnread(int socket);

// A listening socket.
class TcpListener {
 public:
  // Port 0 picks a free port: see address(). Errors: AlreadyExists (another program listens there),
  // PermissionDenied (a port below 1024), FailedPrecondition (this host has no such address),
  // ResourceExhausted.
  static StatusOr<TcpListener> Listen(const TcpAddress& address, int backlog = 64);

  int fd() const { return fd_.get(); }
  // Where it listens: "127.0.0.1:9401".
  const std::string& address() const { return address_; }
  // The next connection, non-blocking and with TCP_NODELAY; nothing if none is waiting. Errors:
  // ResourceExhausted (no descriptors left: try again later), Internal.
  StatusOr<std::optional<UniqueFd>> Accept();

 private:
  TcpListener(UniqueFd fd, std::string address)
      : fd_(std::move(fd)), address_(std::move(address)) {}
  static StatusOr<TcpListener> ListenOn(const TcpAddress& address, int backlog);

  UniqueFd fd_;
  std::string address_;
};

}  // namespace kgpu::sys
