// The bytes of an HTTP/2 connection on the wire: plain, or inside TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/h2/connection.h"
#include "src/platform/net/tls/session.h"

namespace kgpu::h2 {

// Owned by the connection's peer; `connection` must outlive it.
class PeerLine {
 public:
  // Without a session, bytes pass unchanged. A session's handshake is complete.
  PeerLine(Connection& connection, std::unique_ptr<tls::Session> session)
      : connection_(connection), session_(std::move(session)) {}

  // Bytes from the peer. An error ends the connection, once Output is empty: those of
  // Connection::Receive; Unavailable (TLS is broken).
  Status Receive(std::string_view bytes, SteadyTime now);
  // What is to be sent; encrypts a part of the connection's output at a time. Remove what was sent
  // with Consume.
  std::string_view Output();
  void Consume(size_t count);
  // Nothing follows but the end of TLS, which tells the peer that the connection was not cut.
  void End();

  bool has_tls() const { return session_ != nullptr; }
  // The peer sends no more.
  bool has_peer_closed() const { return session_ != nullptr && session_->has_peer_closed(); }
  // Encrypts nothing any more.
  bool has_ended() const { return has_ended_; }

 private:
  void Seal();
  void TakeSealed();

  Connection& connection_;
  std::unique_ptr<tls::Session> session_;
  std::string sealed_;
  size_t sent_ = 0;  // of `sealed_`
  bool has_ended_ = false;
};

}  // namespace kgpu::h2
