#include "bench/http_load.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

struct Client {
  UniqueFd socket;
  std::string input;
  steady_clock::time_point sent;
};

StatusOr<UniqueFd> Connect(const std::string& address) {
  if (address.find('/') != std::string::npos) {
    return sys::ConnectUnix(address);
  }
  ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
  ASSIGN_OR_RETURN(UniqueFd socket, sys::StartConnectTcp(tcp));
  pollfd writable{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  (void)poll(&writable, 1, 5'000);
  RETURN_IF_ERROR(sys::ConnectResult(socket, tcp));
  return socket;
}

// Whether `input` is one whole response with a Content-Length.
bool IsComplete(std::string_view input) {
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t end = input.find("\r\n\r\n");
  size_t at = input.find(kLength);
  if (end == std::string_view::npos || at >= end) {
    return false;
  }
  at += kLength.size();
  const auto length = ParseUint(input.substr(at, input.find('\r', at) - at));
  return length && input.size() == end + 4 + *length;
}

Status Send(Client& client, std::string_view request) {
  client.sent = steady_clock::now();
  const ssize_t count = send(client.socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  return std::cmp_equal(count, request.size()) ? OkStatus()
                                               : Unavailable("the server takes no request");
}

Status Receive(Client& client, LoadResult& result, const Load& load) {
  std::array<char, 65536> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills it
  const ssize_t count = recv(client.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count <= 0) {
    return count < 0 && errno == EAGAIN ? OkStatus()
                                        : Unavailable("the server closed a connection");
  }
  client.input.append(bytes.data(), static_cast<size_t>(count));
  if (!IsComplete(client.input)) {
    return OkStatus();
  }
  const std::chrono::duration<double, std::micro> took = steady_clock::now() - client.sent;
  result.microseconds.Add(took.count());
  result.errors += client.input.starts_with("HTTP/1.1 200") ? 0 : 1;
  client.input.clear();
  return Send(client, load.request);
}

}  // namespace

StatusOr<LoadResult> Ask(const Load& load) {
  const UniqueFd poller(epoll_create1(EPOLL_CLOEXEC));
  std::vector<Client> clients(load.connections);
  LoadResult result;
  const auto start = steady_clock::now();
  for (size_t i = 0; i < clients.size(); ++i) {
    ASSIGN_OR_RETURN(clients[i].socket, Connect(load.address));
    // Requests are sent whole; answers are received without waiting.
    (void)fcntl(clients[i].socket.get(), F_SETFL, 0);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    (void)epoll_ctl(poller.get(), EPOLL_CTL_ADD, clients[i].socket.get(), &event);
    RETURN_IF_ERROR(Send(clients[i], load.request));
  }
  std::array<epoll_event, 64> events{};
  while (steady_clock::now() - start < load.time) {
    const int count = epoll_wait(poller.get(), events.data(), events.size(), 1'000);
    for (int i = 0; i < count; ++i) {
      RETURN_IF_ERROR(Receive(clients[events.at(static_cast<size_t>(i)).data.u64], result, load));
    }
  }
  const std::chrono::duration<double> took = steady_clock::now() - start;
  result.per_second = static_cast<double>(result.microseconds.size()) / took.count();
  return result;
}

}  // namespace kgpu::bench
