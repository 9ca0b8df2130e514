// Who we are to the API server.
#pragma once

#include <functional>
#include <memory>

#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::kube {

// Loop thread only.
class Authenticator {
 public:
  // The fields that a request carries ("Authorization", "Impersonate-User").
  using Done = std::function<void(StatusOr<http::Headers>)>;

  virtual ~Authenticator() = default;
  // Calls `done` once: at once, or later when a program must be asked first.
  // Errors: FailedPrecondition, Unavailable; no secret is in their text.
  virtual void Authenticate(Done done) = 0;
  // The server did not take what was given last: the next answer is read again.
  virtual void Reject() = 0;
};

}  // namespace kgpu::kube
