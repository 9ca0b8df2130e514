#include "bench/scrape.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void NoDelay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Listens on a free port.
std::pair<int, uint16_t> Listen() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener, 8) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  return {listener, ntohs(address.sin_port)};
}

[[noreturn]] void Serve(int listener, const std::string& answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<char, 4096> request{};
  for (;;) {
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) {
      continue;
    }
    NoDelay(peer);
    // Requests are small and come one by one: each is one piece.
    while (recv(peer, request.data(), request.size(), 0) > 0) {
      size_t sent = 0;
      while (sent < answer.size()) {
        const ssize_t count = send(peer, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) {
          break;
        }
        sent += static_cast<size_t>(count);
      }
    }
    close(peer);
  }
}

size_t LengthIn(std::string_view head) {
  constexpr std::string_view kField = "Content-Length: ";
  const size_t at = head.find(kField);
  size_t length = 0;
  if (at != head.npos) {
    (void)std::from_chars(head.data() + at + kField.size(), head.data() + head.size(), length);
  }
  return length;
}

}  // namespace

Scraper::Scraper(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = Loopback(port);
  if (socket_ < 0) {
    return;
  }
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(std::exchange(socket_, -1));
    return;
  }
  NoDelay(socket_);
}

Scraper::~Scraper() {
  if (socket_ >= 0) {
    close(socket_);
  }
}

template <typename Take>
bool Scraper::Exchange(const std::string& coding, const Take& take) {
  const std::string request = fmt::format(
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/plain;version=0.0.4\r\n"
      "Accept-Encoding: {}\r\n\r\n",
      coding);
  if (socket_ < 0 || send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return false;
  }
  std::array<char, 65536> buffer{};
  std::string head;
  size_t left = 0;
  bool has_head = false;
  do {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) {
      return false;
    }
    const std::string_view piece(buffer.data(), static_cast<size_t>(count));
    take(piece);
    if (has_head) {
      left -= piece.size();
      continue;
    }
    head += piece;
    const size_t end = head.find("\r\n\r\n");
    if (end != head.npos) {
      has_head = true;
      left = LengthIn(head.substr(0, end)) + end + 4 - head.size();
    }
  } while (!has_head || left > 0);
  return true;
}

std::string Scraper::Get(const std::string& coding) {
  std::string answer;
  return Exchange(coding, [&](std::string_view piece) { answer += piece; }) ? answer
                                                                            : std::string();
}

double Scraper::TimeGet(const std::string& coding) {
  const auto start = steady_clock::now();
  (void)Exchange(coding, [](std::string_view) {});
  return std::chrono::duration<double, std::micro>(steady_clock::now() - start).count();
}

MemoryServer::MemoryServer(const std::string& answer) {
  const auto [listener, port] = Listen();
  port_ = port;
  pid_ = fork();
  if (pid_ == 0) {
    Serve(listener, answer);
  }
  close(listener);
}

MemoryServer::~MemoryServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

uint16_t FreePort() {
  const auto [listener, port] = Listen();
  close(listener);
  return port;
}

}  // namespace kgpu::bench
