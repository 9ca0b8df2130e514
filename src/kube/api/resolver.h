// Names to addresses, on the loop: DNS and /etc/hosts by c-ares, never the system's resolver, which
// a static program cannot use and which would block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct ResolverOptions {
  std::chrono::milliseconds timeout{5'000};  // of a look-up, with all its questions
  std::string servers{};                     // "127.0.0.1:5353,…"; empty: as /etc/resolv.conf says
};

// One look-up. Destroying it gives it up. Loop thread only.
class Lookup {
 public:
  // IP addresses as text, of both families in turns, as they should be tried. Errors: NotFound (no
  // such name), Unavailable (no server answers).
  using Done = std::function<void(StatusOr<std::vector<std::string>>)>;

  // `done` is called once, never from here; it may destroy the look-up. `loop` outlives it. An
  // address is its own answer.
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

}  // namespace kgpu::kube
