// Tells the caller of an asynchronous call the answer: a POST to the URL that it gave.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::functions {

// The parts of "http://host[:port][/path?query]", or https.
struct CallbackUrl {
  bool is_https = false;
  std::string host{};  // a name or an address; IPv6 without brackets
  uint16_t port = 80;
  std::string target{};  // "/path?query"
  bool operator==(const CallbackUrl&) const = default;
};

// Errors: InvalidArgument.
StatusOr<CallbackUrl> ParseCallbackUrl(std::string_view text);

// Which authorities sign the certificates of https callbacks; asked for each callback. Errors:
// those of their file.
using CallbackTrust = std::function<StatusOr<std::shared_ptr<const tls::Context>>()>;

// A callback in progress: up to three attempts, 1 s and 2 s apart. Destroying it cancels it. Loop
// thread only.
class Callback {
 public:
  // Called once, never from within Start; it may destroy the callback. Errors: those of the last
  // attempt; Unavailable (an answer with a code from 300).
  using Done = std::function<void(const Status&)>;

  // `loop` must outlive it. `tls`: for https, else null.
  static std::unique_ptr<Callback> Start(EventLoop& loop, const CallbackUrl& url,
                                         std::shared_ptr<const tls::Context> tls,
                                         http::Headers headers, std::string body, Done done);
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

 private:
  class Impl;
  explicit Callback(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::functions
