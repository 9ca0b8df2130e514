// Where a Redis server is, and how we log in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/dial/endpoint.h"

namespace kgpu::functions {

// The servers of which one is the primary.
struct RedisAddress {
  bool is_tls = false;
  std::vector<net::Endpoint> servers{};  // of kind kPlain or kUnix
};

// "redis://HOST[:PORT][,HOST[:PORT]…]", the same with rediss:// for TLS, or "unix:///PATH". The
// default port is 6379. Errors: InvalidArgument: also for a user, a password or a database, which
// have no place there.
StatusOr<RedisAddress> ParseRedisUrl(std::string_view url);

struct RedisLogin {
  std::string user{};  // empty: the default one
  std::string password{};
};

// The text of a file with one line: PASSWORD or USER:PASSWORD. Errors: InvalidArgument; the text
// never contains any part of it.
StatusOr<RedisLogin> ParseRedisLogin(std::string_view text);

}  // namespace kgpu::functions
