// A server's side of one connection as bytes in, requests out, bytes out: no socket, no clock, no
// callbacks. Handles one request at a time; what the peer sends meanwhile waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/output_queue.h"
#include "src/platform/net/http/parser.h"

namespace kgpu::http {

enum class Phase : uint8_t {
  kIdle,       // no byte of a request has arrived
  kHeader,     // a request's header is being received
  kBody,       // its body is being received
  kReady,      // a request waits for TakeRequest
  kHandling,   // TakeRequest returned one; waits for Respond or BeginStream
  kStreaming,  // waits for Write or EndStream
  kClosing,    // close after the output has been sent
};

class ServerConnection {
 public:
  // `judges`: a request's body is received once Admit has been called for it.
  explicit ServerConnection(const ParserLimits& limits, bool judges = false);

  Phase phase() const { return phase_; }
  // False if the connection accepts no input now, or never again.
  bool wants_input() const;
  bool has_input_ended() const { return has_input_ended_; }
  // Bytes of the body of the request that is received, or waits for TakeRequest.
  size_t body_size() const { return parser_ ? parser_->body_size() : 0; }

  void Receive(std::string_view bytes, WallTime now);
  // The peer sends no more. Its requests are still answered, but a stream to it ends: a client that
  // closes its side while it listens is most likely gone.
  void ReceiveEnd();

  // Whether a request's header is there and waits for Admit, or Refuse; only in kBody.
  bool awaits_verdict() const { return phase_ == Phase::kBody && !is_admitted_; }
  Request Head() const { return parser_->Head(); }
  void Admit();
  // Only in kReady.
  Request TakeRequest();
  // Only in kHandling: the complete response.
  void Respond(Response response, WallTime now);
  // Only in kHandling: the head of a response whose body Write sends; head.body is its first piece.
  void BeginStream(Response head, WallTime now);
  // Only in kStreaming.
  void Write(std::string_view bytes);
  void EndStream(WallTime now);
  // In any phase except kStreaming: sends `code` and closes.
  void Refuse(int code, std::string_view reason, WallTime now);
  void Refuse(const Response& response, WallTime now);
  // The same with these bytes instead of a response: another protocol's refusal.
  void RefuseWith(std::string bytes);
  // In any phase: closes after the response to the request in progress, which is the last one. A
  // peer that has had no response yet may still send its request, as it knows nothing of our end.
  void Shutdown(bool has_unread = false);
  // In any phase: closes, and drops unsent output.
  void Abort();

  OutputQueue& output() { return output_; }
  const OutputQueue& output() const { return output_; }

 private:
  void Parse(WallTime now);
  void AppendPiece(std::string bytes);
  void FinishAnswer(WallTime now);

  const ParserLimits limits_;
  const bool judges_;
  Phase phase_ = Phase::kIdle;
  std::string input_;
  bool has_input_ended_ = false;
  bool has_responded_ = false;
  bool is_shut_down_ = false;
  std::unique_ptr<RequestParser> parser_;
  bool is_admitted_ = false;  // the body of this request may come
  // Of the request in progress:
  bool keeps_alive_ = true;
  bool is_http11_ = true;
  bool is_head_ = false;
  OutputQueue output_;
};

}  // namespace kgpu::http
