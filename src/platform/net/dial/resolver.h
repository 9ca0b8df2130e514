// Resolves names on the loop: DNS and /etc/hosts through c-ares, never the system's resolver, which
// a static program cannot use and which would block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::net {

struct ResolverOptions {
  std::chrono::milliseconds timeout{5'000};  // for a look-up with all its queries
  std::string servers{};                     // "127.0.0.1:5353,…"; empty: as /etc/resolv.conf says
};

// One look-up. Destroying it cancels it. Loop thread only.
class Lookup {
 public:
  // IP addresses as text, the two families alternating, in the order to try them. Errors: NotFound
  // (no such name), Unavailable (no server answers).
  using Done = std::function<void(StatusOr<std::vector<std::string>>)>;

  // `done` is called once, never from here; it may destroy the look-up. `loop` must outlive it. An
  // IP address resolves to itself.
  static std::unique_ptr<Lookup> Start(EventLoop& loop, const std::string& name, Done done,
                                       const ResolverOptions& options = {});
  ~Lookup();
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

 private:
  class Impl;
  explicit Lookup(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::net
