#include "src/platform/net/dial/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::net {
namespace {

Status BadUrl(std::string_view url) {
  // A password in it must not get into a log.
  const std::string_view shown =
      url.find('@') == url.npos ? url : "(an address that contains a user)";
  return InvalidArgument(
      "{}: not a server address: use https://HOST:PORT, http://127.0.0.1:PORT or unix:///PATH",
      Printable(shown));
}

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

bool IsHost(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

std::optional<HostPort> SplitHostPort(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos || (end + 1 < text.size() && text[end + 1] != ':')) {
      return std::nullopt;
    }
    host = text.substr(1, end - 1);
    port = text.substr(std::min(end + 2, text.size()));
  } else if (const size_t colon = text.find(':'); colon != text.npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const auto number = port.empty() ? std::optional<uint64_t>(default_port) : ParseUint(port);
  if (!IsHost(host) || !number || *number == 0 || *number > UINT16_MAX) {
    return std::nullopt;
  }
  return HostPort{std::string(host), static_cast<uint16_t>(*number)};
}

// Only what is an address as a whole: 127.0.0.1.example.org is a name, of anybody's.
bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return host == "localhost";
}

}  // namespace

StatusOr<Endpoint> Endpoint::Parse(std::string_view url) {
  if (url.starts_with("unix:///") && url.size() > 8) {
    return Endpoint{.kind = Kind::kUnix, .host = std::string(url.substr(7)), .port = 0};
  }
  Endpoint endpoint;
  std::string_view rest = url;
  if (url.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    rest.remove_prefix(7);
    endpoint.kind = Kind::kPlain;
  } else if (url.find("://") != url.npos) {
    return BadUrl(url);
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view prefix = rest.substr(slash);
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  const bool is_clean = std::ranges::all_of(
      prefix, [](char c) { return c > 0x20 && c < 0x7f && c != '?' && c != '#'; });
  const auto host = SplitHostPort(rest.substr(0, slash), endpoint.kind == Kind::kTls ? 443 : 80);
  if (!host || !is_clean) {
    return BadUrl(url);
  }
  if (endpoint.kind == Kind::kPlain && !IsLoopback(host->host)) {
    return InvalidArgument(
        "{}: plain HTTP to another host would expose the credentials: use https://",
        Printable(url));
  }
  endpoint.host = host->host;
  endpoint.port = host->port;
  endpoint.prefix = prefix;
  return endpoint;
}

std::string Endpoint::authority() const {
  return kind == Kind::kUnix ? "localhost" : JoinHostPort(host, port);
}

std::string Endpoint::str() const {
  switch (kind) {
    case Kind::kTls:
      return fmt::format("https://{}{}", authority(), prefix);
    case Kind::kPlain:
      return fmt::format("http://{}{}", authority(), prefix);
    case Kind::kUnix:
      return fmt::format("unix://{}", host);
  }
  return "";
}

std::string JoinHostPort(std::string_view host, uint16_t port) {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                     : fmt::format("[{}]:{}", host, port);
}

}  // namespace kgpu::net
