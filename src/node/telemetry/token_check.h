// Who may read the agent's pages, by a request's token.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace kgpu::telemetry {

// Service account tokens have about 1,200 characters; a header may have 16 KiB.
inline constexpr size_t kMaxToken = 8192;

// The response if a request is refused.
struct Verdict {
  int code = 200;      // 200: admitted; 401 invalid token, 403 not allowed, 503 unknown
  std::string text{};  // for the client, with the fix
  bool operator==(const Verdict&) const = default;
};

// Loop thread only.
class TokenCheck {
 public:
  using Done = std::function<void(const Verdict&)>;

  // Calls what still waits, with code 503.
  virtual ~TokenCheck() = default;
  // Calls `done` once, immediately or later.
  virtual void Check(const std::string& token, Done done) = 0;
  // Why valid and invalid tokens cannot be told apart now; empty: they can.
  virtual std::string Problem() = 0;
};

}  // namespace kgpu::telemetry
