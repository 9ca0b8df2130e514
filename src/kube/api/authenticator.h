// Our identity to the API server.
#pragma once

#include <functional>
#include <memory>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::kube {

// Loop thread only.
class Authenticator {
 public:
  // The header fields that a request carries ("Authorization", "Impersonate-User").
  using Done = std::function<void(StatusOr<http::Headers>)>;

  virtual ~Authenticator() = default;
  // Calls `done` once: immediately, or later if a program must run first. Errors:
  // FailedPrecondition, Unavailable; their text never contains a secret.
  virtual void Authenticate(Done done) = 0;
  // The server rejected the last credentials: they are read again for the next request.
  virtual void Reject() = 0;
};

}  // namespace kgpu::kube
