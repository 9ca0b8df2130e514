// Connects to an API server: resolves names, tries addresses in turn, goes through a proxy if one
// is given.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/dial/endpoint.h"
#include "src/platform/net/dial/resolver.h"

namespace kgpu::net {

struct Proxy {
  std::string host{};  // empty: none
  uint16_t port = 0;
  std::string authorization{};  // the complete Proxy-Authorization value; a secret

  // "http://user:password@proxy:3128". Errors: InvalidArgument, Unimplemented (https and socks5
  // proxies).
  static StatusOr<Proxy> Parse(std::string_view url);
};

struct DialOptions {
  std::chrono::milliseconds timeout{10'000};  // for the whole attempt
  // When to try the next address in parallel. Source: RFC 8305, section 5.
  std::chrono::milliseconds next_address{250};
  ResolverOptions resolver{};
};

// A connection attempt in progress. Destroying it cancels it. Loop thread only.
class Dial {
 public:
  // A connected, non-blocking socket that notices within two minutes if the other host is gone.
  // Errors: Unavailable, NotFound (no such name or unix socket), PermissionDenied.
  using Done = std::function<void(StatusOr<UniqueFd>)>;

  // `done` is called once, never from here; it may destroy the dial. `loop` must outlive it.
  static std::unique_ptr<Dial> Start(EventLoop& loop, const Endpoint& endpoint, const Proxy& proxy,
                                     Done done, const DialOptions& options = {});
  ~Dial();
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

 private:
  class Impl;
  explicit Dial(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::net
