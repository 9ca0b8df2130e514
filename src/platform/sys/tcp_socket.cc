#include "src/platform/sys/tcp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/accept.h"

namespace kgpu::sys {
namespace {

Status BadAddress(std::string_view text) {
  return InvalidArgument(
      "{}: not an address: use IP:PORT (127.0.0.1:9401), [IPv6]:PORT, or :PORT for all addresses",
      Printable(text));
}

void SetFlag(int fd, int level, int option, int value) {
  // The options used here exist on every Linux; without them all still works.
  (void)setsockopt(fd, level, option, &value, sizeof(value));
}

StatusOr<UniqueFd> NewTcpSocket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "create a TCP socket");
  }
  return fd;
}

Status ConnectStatus(int error, const TcpAddress& address) {
  switch (error) {
    case ECONNREFUSED:
      return Unavailable("{}: connection refused", address.str());
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ETIMEDOUT:
    case EADDRNOTAVAIL:
      return Unavailable("{}: unreachable", address.str());
    default:
      return ErrnoStatus(error, fmt::format("connect to {}", address.str()));
  }
}

}  // namespace

StatusOr<TcpAddress> TcpAddress::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return BadAddress(text);
  }
  const auto port = ParseUint(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) {
    return BadAddress(text);
  }
  std::string host(text.substr(0, colon));
  TcpAddress address;
  address.is_any_ = host.empty() || host == "[::]";
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage_);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
  if (host.empty() || (host.starts_with('[') && host.ends_with(']'))) {
    host = host.empty() ? "::" : host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) {
      return BadAddress(text);
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(*port));
    address.size_ = sizeof(sockaddr_in6);
    return address;
  }
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) != 1) {
    return BadAddress(text);
  }
  v4->sin_family = AF_INET;
  v4->sin_port = htons(static_cast<uint16_t>(*port));
  address.size_ = sizeof(sockaddr_in);
  return address;
}

bool TcpAddress::is_loopback() const {
  if (family() == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
  }
  constexpr uint32_t kLoopbackNetwork = 127;
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
  return ntohl(v4->sin_addr.s_addr) >> 24 == kLoopbackNetwork;
}

std::string TcpAddress::str() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
  (void)inet_ntop(AF_INET, &v4->sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), ntohs(v4->sin_port));
}

StatusOr<UniqueFd> StartConnectTcp(const TcpAddress& address) {
  ASSIGN_OR_RETURN(UniqueFd fd, NewTcpSocket(address.family()));
  SetFlag(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (connect(fd.get(), address.base(), address.size()) != 0 && errno != EINPROGRESS) {
    return ConnectStatus(errno, address);
  }
  return fd;
}

Status ConnectResult(const UniqueFd& socket, const TcpAddress& address) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  return error == 0 ? OkStatus() : ConnectStatus(error, address);
}

std::string PeerAddress(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return "";
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    (void)inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  }
  const std::string_view address = text.data();
  constexpr std::string_view kMapped = "::ffff:";
  const bool is_mapped = address.starts_with(kMapped) && address.find('.') != address.npos;
  return std::string(is_mapped ? address.substr(kMapped.size()) : address);
}

bool HasUnread(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

StatusOr<TcpListener> TcpListener::Listen(const TcpAddress& address, int backlog) {
  StatusOr<TcpListener> listener = ListenOn(address, backlog);
  if (listener.ok() || !address.is_any()) {
    return listener;
  }
  // A host without IPv6 has no such addresses: "every address" is then all of IPv4.
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.base());
  ASSIGN_OR_RETURN(const TcpAddress v4,
                   TcpAddress::Parse(fmt::format("0.0.0.0:{}", ntohs(v6->sin6_port))));
  StatusOr<TcpListener> second = ListenOn(v4, backlog);
  return second.ok() ? std::move(second) : std::move(listener);
}

StatusOr<TcpListener> TcpListener::ListenOn(const TcpAddress& address, int backlog) {
  ASSIGN_OR_RETURN(UniqueFd fd, NewTcpSocket(address.family()));
  // Connections of the server before us that are still ending do not hold the port.
  SetFlag(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) {
    SetFlag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
  }
  if (bind(fd.get(), address.base(), address.size()) != 0 || listen(fd.get(), backlog) != 0) {
    if (errno == EADDRINUSE) {
      return AlreadyExists(
          "{}: address already in use: stop the other program, or choose another port",
          address.str());
    }
    if (errno == EADDRNOTAVAIL) {
      return FailedPrecondition("{}: this host does not have this address", address.str());
    }
    return ErrnoStatus(errno, fmt::format("listen on {}", address.str()));
  }
  TcpAddress bound;
  bound.size_ = sizeof(bound.storage_);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound.storage_), &bound.size_) != 0) {
    return ErrnoStatus(errno, fmt::format("listen on {}", address.str()));
  }
  return TcpListener(std::move(fd), bound.str());
}

StatusOr<std::optional<UniqueFd>> TcpListener::Accept() {
  ASSIGN_OR_RETURN(std::optional<UniqueFd> connection, AcceptOn(fd_.get(), address_));
  if (connection) {
    SetFlag(connection->get(), IPPROTO_TCP, TCP_NODELAY, 1);
  }
  return connection;
}

}  // namespace kgpu::sys
