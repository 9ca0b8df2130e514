// The address of an API server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::net {

struct Endpoint {
  enum class Kind : uint8_t { kTls, kPlain, kUnix };

  Kind kind = Kind::kTls;
  std::string host{};  // name or IP address without brackets; for kUnix, the socket's path
  uint16_t port = 443;
  std::string prefix{};  // of every path: "/k8s/clusters/c1", "" mostly

  // "https://10.0.0.1:6443/prefix", "https://[::1]:6443"; "http://127.0.0.1:8001" and
  // "unix:///run/proxy.sock", as kubectl proxy serves. Errors: InvalidArgument: invalid address, or
  // plain HTTP to another host.
  static StatusOr<Endpoint> Parse(std::string_view url);

  // "10.0.0.1:6443", "[::1]:6443": for the Host field and CONNECT.
  std::string authority() const;
  // As people read it: "https://10.0.0.1:6443".
  std::string str() const;
  bool operator==(const Endpoint&) const = default;
};

// "[::1]:443" for an IPv6 address, "name:443" for anything else.
std::string JoinHostPort(std::string_view host, uint16_t port);

}  // namespace kgpu::net
