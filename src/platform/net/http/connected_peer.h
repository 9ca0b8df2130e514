// One connection of a server, whatever its protocol: all of them count toward the server's limit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/tls/session.h"

namespace kgpu::http {

// Which connection is closed first when there are too many: the one with the lowest claim.
enum class Claim : uint8_t {
  kNone,      // no request, or no new one
  kAnswer,    // its response is being sent
  kHandling,  // its request is being handled: cannot be closed
};

// Owned by the server, and by itself during a callback. Lives on the loop's thread.
class ConnectedPeer {
 public:
  virtual ~ConnectedPeer() = default;

  // `received`: bytes that were read already, to find out which protocol this is. `closed` is
  // called once, unless Close is called. May call a handler. Errors: ResourceExhausted.
  virtual Status Start(std::string_view received, std::function<void()> closed) = 0;
  // Idempotent; calls no callback.
  virtual void Close() = 0;
  // No new requests, except the first one; closes once those in progress have their responses.
  virtual void Shutdown() = 0;
  virtual Claim claim() const = 0;
  // Whether bytes of the client wait to be read: its next request has come, most likely.
  virtual bool has_unread() const = 0;
  // False for a connection that only waits for its peer to see the end.
  virtual bool is_active() const { return true; }
  virtual bool is_shaking_hands() const { return false; }
};

// A connection whose first bytes or TLS handshake say that it speaks HTTP/2.
struct Http2Socket {
  UniqueFd socket{};                        // connected and non-blocking
  std::unique_ptr<tls::Session> session{};  // its handshake is complete; null without TLS
  bool is_unix = false;
};

// Serves such a connection. Errors: ResourceExhausted.
using Http2Maker = std::function<StatusOr<std::shared_ptr<ConnectedPeer>>(Http2Socket)>;

}  // namespace kgpu::http
