// Who may read the agent's pages, by the token that a request carries.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace kgpu::agent {

// Those of service accounts have some 1,200 characters; a header may have 16 KiB.
inline constexpr size_t kMaxToken = 8192;

// What a request is answered when it is not let through.
struct Verdict {
  int code = 200;      // 200: let through; 401 nobody's token, 403 not allowed, 503 is unknown
  std::string text{};  // for the client, with the fix
  bool operator==(const Verdict&) const = default;
};

// Loop thread only.
class TokenCheck {
 public:
  using Done = std::function<void(const Verdict&)>;

  // Calls what still waits, with code 503.
  virtual ~TokenCheck() = default;
  // Calls `done` once, at once or later.
  virtual void Check(const std::string& token, Done done) = 0;
  // Why tokens is unknown from one another now; empty: they can.
  virtual std::string Problem() = 0;
};

}  // namespace kgpu::agent
