// Calls another function: MeshCall(name, input) returns its output. C++17, no dependencies.
#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace kgpu::fn {

class MeshConnection {
 public:
  // "host:port", or the path of a unix socket, which contains a "/".
  explicit MeshConnection(const std::string& where) {
    if (where.find('/') != std::string::npos) {
      ConnectUnix(where);
    } else {
      ConnectTcp(where);
    }
    if (fd_ < 0) {
      throw std::runtime_error("KGPU_FN_MESH: " + where + ": nobody answers");
    }
  }
  ~MeshConnection() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  MeshConnection(const MeshConnection&) = delete;
  MeshConnection& operator=(const MeshConnection&) = delete;

  std::string Ask(const std::string& request) const {
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t count = send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) {
        throw std::runtime_error("the connection to the other function was lost");
      }
      sent += static_cast<std::size_t>(count);
    }
    std::string answer;
    char bytes[65536];
    for (;;) {
      const ssize_t count = recv(fd_, bytes, sizeof(bytes), 0);
      if (count < 0) {
        throw std::runtime_error("the other function did not answer in time");
      }
      if (count == 0) {
        return answer;
      }
      answer.append(bytes, static_cast<std::size_t>(count));
    }
  }

 private:
  void ConnectUnix(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() < sizeof(address.sun_path)) {
      std::memcpy(address.sun_path, path.data(), path.size());
      Connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }
  }
  void ConnectTcp(const std::string& where) {
    const std::size_t colon = where.rfind(':');
    const std::string host = where.substr(0, colon);
    const std::string port = colon == std::string::npos ? "80" : where.substr(colon + 1);
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
      return;
    }
    for (const addrinfo* at = found; at != nullptr && fd_ < 0; at = at->ai_next) {
      Connect(at->ai_family, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
  }
  void Connect(int family, const sockaddr* address, socklen_t size) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit = {/*seconds*/ 60, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (fd >= 0 && connect(fd, address, size) == 0) {
      fd_ = fd;
    } else if (fd >= 0) {
      close(fd);
    }
  }

  int fd_ = -1;
};

}  // namespace kgpu::fn

// As OpenFx names it. Throws std::runtime_error when the other function fails or is not reached.
inline std::string MeshCall(std::string name, std::string input) {
  const char* where = std::getenv("KGPU_FN_MESH");
  if (where == nullptr || *where == '\0') {
    throw std::runtime_error(
        "KGPU_FN_MESH: not set: this function runs where no other can be called");
  }
  for (const char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') {
      throw std::runtime_error("MeshCall: \"" + name + "\" is no function's name");
    }
  }
  // In HTTP/1.0 the answer ends with the connection.
  const std::string answer = kgpu::fn::MeshConnection(where).Ask(
      "POST /function/" + name + " HTTP/1.0\r\nHost: mesh\r\n" +
      "Content-Length: " + std::to_string(input.size()) + "\r\n\r\n" + input);
  const std::size_t head = answer.find("\r\n\r\n");
  const std::size_t code = answer.find(' ');
  if (head == std::string::npos || code >= head) {
    throw std::runtime_error(name + ": the answer is incomplete");
  }
  if (answer[code + 1] >= '4') {
    throw std::runtime_error(name + ": status " + answer.substr(code + 1, 3) + ": " +
                             answer.substr(head + 4, 300));
  }
  const std::string output = answer.substr(head + 4);
  const std::size_t length = answer.find("\r\nContent-Length: ");
  if (length < head && std::stoull(answer.substr(length + 18)) != output.size()) {
    throw std::runtime_error(name + ": the answer was cut off");
  }
  return output;
}
