// Connections to where an API server is: names looked up, addresses tried in turns, through a proxy
// where one is given.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/kube/api/endpoint.h"
#include "src/kube/api/resolver.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::kube {

struct Proxy {
  std::string host{};  // empty: none
  uint16_t port = 0;
  std::string authorization{};  // a whole Proxy-Authorization value; a secret

  // "http://user:password@proxy:3128". Errors: InvalidArgument, Unimplemented (https and socks5
  // proxies).
  static StatusOr<Proxy> Parse(std::string_view url);
};

struct DialOptions {
  std::chrono::milliseconds timeout{10'000};  // for all of it
  // Until the next address is tried beside the one before. Source: RFC 8305, section 5.
  std::chrono::milliseconds next_address{250};
  ResolverOptions resolver{};
};

// One connection on its way. Destroying it gives it up. Loop thread only.
class Dial {
 public:
  // A connected, non-blocking socket that notices within two minutes that the other host is gone.
  // Errors: Unavailable, NotFound (no such name or unix socket), PermissionDenied.
  using Done = std::function<void(StatusOr<UniqueFd>)>;

  // `done` is called once, never from here; it may destroy the dial. `loop` outlives it.
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

}  // namespace kgpu::kube
