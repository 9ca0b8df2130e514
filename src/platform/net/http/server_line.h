// The bytes of a server's connection on the wire: plain, or inside TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/output_queue.h"
#include "src/platform/net/http/server_connection.h"
#include "src/platform/net/tls/session.h"

namespace kgpu::http {

// What a client of HTTP/2 sends first. Source: RFC 9113, 3.4.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// What a server answers that takes no request of it, without knowing more of HTTP/2: empty
// SETTINGS, and GOAWAY with ENHANCE_YOUR_CALM for every stream. Source: RFC 9113, 6.5 and 6.8.
inline constexpr std::string_view kHttp2Refusal{
    "\0\0\0\x04\0\0\0\0\0"
    "\0\0\x1c\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b"
    "too many connections",
    9 + 9 + 28};

struct LineOptions {
  // With a session: also accept a peer that speaks plain HTTP from its first byte.
  bool takes_plain = false;
  // Find out whether the peer speaks HTTP/2: by the protocol that TLS agreed on, else by its first
  // bytes.
  bool may_be_http2 = false;
};

// Owned by the connection's peer; `http` must outlive it.
class ServerLine {
 public:
  // Without a session, bytes pass unchanged.
  ServerLine(ServerConnection& http, std::unique_ptr<tls::Session> session,
             const LineOptions& options = {})
      : http_(http),
        session_(std::move(session)),
        takes_plain_(options.takes_plain),
        protocol_(options.may_be_http2 ? Protocol::kUnknown : Protocol::kHttp1) {}

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
  // Whether the peer speaks HTTP/2. Then the connection has received nothing; once all output has
  // been sent, somebody else continues, with the session and with the peer's bytes so far.
  bool is_http2() const {
    return protocol_ == Protocol::kHttp2 && http_.phase() != Phase::kClosing;
  }
  // Whether it is known which protocol the peer speaks.
  bool knows_protocol() const { return protocol_ != Protocol::kUnknown; }
  std::unique_ptr<tls::Session> TakeSession() { return std::move(session_); }
  std::string TakeFirstBytes() { return std::exchange(first_bytes_, {}); }

 private:
  enum class Protocol : uint8_t { kUnknown, kHttp1, kHttp2 };

  // Bytes of the peer without TLS.
  void Pass(std::string_view text, WallTime now);
  void SettleProtocol();
  void Seal();
  void Break(const Status& status);

  ServerConnection& http_;
  std::unique_ptr<tls::Session> session_;
  const bool takes_plain_;
  Protocol protocol_;
  std::string first_bytes_;  // until the protocol is known
  OutputQueue wire_;
  bool has_begun_ = false;  // the peer has sent a byte
  bool has_ended_ = false;
};

}  // namespace kgpu::http
