// The bytes of a server's connection on the wire: plain, or inside TLS.
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

// Owned by the connection's peer; `http` must outlive it.
class ServerLine {
 public:
  // Without a session, bytes pass unchanged. `takes_plain`: also accept a peer that speaks plain
  // HTTP from its first byte.
  ServerLine(ServerConnection& http, std::unique_ptr<tls::Session> session,
             bool takes_plain = false)
      : http_(http), session_(std::move(session)), takes_plain_(takes_plain) {}

  // Whether the next bytes start a handshake, which is expensive.
  bool BeginsHandshake(std::string_view bytes) const;
  // Bytes from the peer. Invalid bytes end the connection, and the peer gets the reason.
  void Receive(std::string_view bytes, WallTime now);
  // Puts the connection's output on the wire, and the end of the stream after the last byte. Works
  // in small steps, so that a page is never in memory twice.
  void Fill();
  // To be sent, then consumed.
  OutputQueue& wire() { return session_ ? wire_ : http_.output(); }
  // Whether all output has been sent.
  bool is_flushed() const { return wire_.empty() && http_.output().empty(); }
  bool has_tls() const { return session_ != nullptr; }
  // Whether the handshake is still in progress.
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
  bool has_begun_ = false;  // the peer has sent a byte
  bool has_ended_ = false;
};

}  // namespace kgpu::http
