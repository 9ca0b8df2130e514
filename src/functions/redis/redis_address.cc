#include "src/functions/redis/redis_address.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kPlainScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr std::string_view kUnixScheme = "unix://";
constexpr uint16_t kRedisPort = 6'379;
constexpr size_t kMaxServers = 16;
constexpr size_t kMaxUrlLength = 4'096;
constexpr size_t kMaxSecret = 4'096;
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr std::string_view kIpv6Letters = "0123456789abcdefABCDEF:.";

Status BadUrl(std::string_view url, std::string_view why) {
  return InvalidArgument(
      "--redis-url: {}: {}: use redis://HOST:PORT, rediss://HOST:PORT for TLS, "
      "or unix:///PATH",
      Printable(url), why);
}

// "host", "host:port", "[::1]", "[::1]:port".
std::optional<net::Endpoint> ParseServer(std::string_view text) {
  net::Endpoint server{.kind = net::Endpoint::Kind::kPlain, .port = kRedisPort};
  std::string_view letters = kNameLetters;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    letters = kIpv6Letters;
    server.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    server.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (server.host.empty() || server.host.find_first_not_of(letters) != std::string::npos) {
    return std::nullopt;
  }
  if (!port.empty()) {
    const std::optional<uint64_t> number =
        port.starts_with(':') ? ParseUint(port.substr(1)) : std::nullopt;
    if (!number || *number == 0 || *number > UINT16_MAX) {
      return std::nullopt;
    }
    server.port = static_cast<uint16_t>(*number);
  }
  return server;
}

}  // namespace

StatusOr<RedisAddress> ParseRedisUrl(std::string_view url) {
  if (url.find('@') != std::string_view::npos) {
    // Not shown: it may have a password.
    return InvalidArgument(
        "--redis-url: must not have a user or a password: write them to a file and use "
        "--redis-credentials");
  }
  if (url.size() > kMaxUrlLength) {
    return BadUrl(url, "is too long");
  }
  RedisAddress address;
  if (url.starts_with(kUnixScheme)) {
    const std::string_view path = url.substr(kUnixScheme.size());
    if (!path.starts_with('/')) {
      return BadUrl(url, "the path of a socket must be absolute");
    }
    address.servers.push_back(
        {.kind = net::Endpoint::Kind::kUnix, .host = std::string(path), .port = 0});
    return address;
  }
  address.is_tls = url.starts_with(kTlsScheme);
  if (!address.is_tls && !url.starts_with(kPlainScheme)) {
    return BadUrl(url, "has another scheme");
  }
  std::string_view hosts = url.substr(address.is_tls ? kTlsScheme.size() : kPlainScheme.size());
  if (hosts.ends_with('/')) {
    hosts.remove_suffix(1);
  }
  if (hosts.find_first_of("/?#") != std::string_view::npos) {
    return BadUrl(url, "must end after the port: --redis-name keeps several queues apart");
  }
  for (const std::string_view text : Split(hosts, ',')) {
    const std::optional<net::Endpoint> server = ParseServer(text);
    if (!server) {
      return BadUrl(url, fmt::format("{} is no host with a port", Printable(text)));
    }
    address.servers.push_back(*server);
  }
  if (address.servers.size() > kMaxServers) {
    return BadUrl(url, fmt::format("has more than {} servers", kMaxServers));
  }
  return address;
}

StatusOr<RedisLogin> ParseRedisLogin(std::string_view text) {
  const std::string_view line = Trim(text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (line.empty() || line.size() > kMaxSecret || std::ranges::any_of(line, is_control)) {
    return InvalidArgument("must be one line: PASSWORD or USER:PASSWORD");
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return RedisLogin{.password = std::string(line)};
  }
  return RedisLogin{.user = std::string(line.substr(0, colon)),
                    .password = std::string(line.substr(colon + 1))};
}

}  // namespace kgpu::functions
