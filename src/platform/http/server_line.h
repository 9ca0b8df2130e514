// A connection's bytes as they lie on the wire of a server: as they are, or within TLS.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/http/output_queue.h"
#include "src/platform/http/server_connection.h"
#include "src/platform/tls/session.h"

namespace kgpu::http {

// Owned by the connection's peer; `http` outlives it.
class ServerLine {
 public:
  // Without a session nothing is changed on the way. `takes_plain`: a peer that speaks HTTP at once
  // is heard.
  ServerLine(ServerConnection& http, std::unique_ptr<tls::Session> session,
             bool takes_plain = false)
      : http_(http), session_(std::move(session)), takes_plain_(takes_plain) {}

  // Whether these bytes, the next ones, begin a handshake: that costs much.
  bool BeginsHandshake(std::string_view bytes) const;
  // Bytes of the peer. What is wrong with them ends the connection, and the peer gets the reason.
  void Receive(std::string_view bytes, WallTime now);
  // Puts what the connection says on the wire, and after its last word the end. Little by little:
  // a page is not there twice.
  void Fill();
  // To be sent, and consumed.
  OutputQueue& wire() { return session_ ? wire_ : http_.output(); }
  // Whether all that was said has gone.
  bool is_flushed() const { return wire_.empty() && http_.output().empty(); }
  bool has_tls() const { return session_ != nullptr; }
  // Whether peer and server have not come to terms yet.
  bool is_shaking_hands() const {
    return session_ != nullptr && !has_ended_ && !session_->is_open();
  }

 private:
  void Seal();
  void Break(const Status& status);

  ServerConnection& http_;
  std::unique_ptr<tls::Session> session_;
  const bool takes_plain_;
  OutputQueue wire_;
  bool has_begun_ = false;  // a byte of the peer has come
  bool has_ended_ = false;
};

}  // namespace kgpu::http
