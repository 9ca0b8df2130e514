// A server's end of one connection as bytes in, requests out, bytes out: no socket, no clock, no
// callbacks. One request is in progress at a time; what the peer sends meanwhile waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/http/message.h"
#include "src/platform/http/output_queue.h"
#include "src/platform/http/parser.h"

namespace kgpu::http {

enum class Phase : uint8_t {
  kIdle,       // no byte of a request is here
  kHeader,     // a request's header is on its way
  kBody,       // its body is
  kReady,      // a request waits for TakeRequest
  kHandling,   // TakeRequest gave one: Respond or BeginStream is awaited
  kStreaming,  // Write or EndStream is awaited
  kClosing,    // to be closed once the output has gone
};

class ServerConnection {
 public:
  explicit ServerConnection(const ParserLimits& limits);

  Phase phase() const { return phase_; }
  // False when what the peer sends is not wanted now, or not at all any more.
  bool wants_input() const;
  bool has_input_ended() const { return has_input_ended_; }

  void Receive(std::string_view bytes, WallTime now);
  // The peer sends no more. Its requests are answered all the same, but a stream to it ends: who
  // listens and says that it ends has most likely gone.
  void ReceiveEnd();

  // In kReady.
  Request TakeRequest();
  // In kHandling: the whole answer.
  void Respond(Response response, WallTime now);
  // In kHandling: the head of an answer whose body comes by Write; head.body is its first piece.
  void BeginStream(Response head, WallTime now);
  // In kStreaming.
  void Write(std::string_view bytes);
  void EndStream(WallTime now);
  // In any phase but kStreaming: answers with `code` and closes.
  void Refuse(int code, std::string_view reason, WallTime now);
  // In any phase: closes, and what was to be said is not.
  void Abort();

  OutputQueue& output() { return output_; }
  const OutputQueue& output() const { return output_; }

 private:
  void Parse(WallTime now);
  void AppendPiece(std::string_view bytes);
  void FinishAnswer(WallTime now);

  const ParserLimits limits_;
  Phase phase_ = Phase::kIdle;
  std::string input_;
  bool has_input_ended_ = false;
  std::unique_ptr<RequestParser> parser_;
  bool has_continued_ = false;  // "100 Continue" was sent for this request
  // Of the request in progress:
  bool keeps_alive_ = true;
  bool is_http11_ = true;
  bool is_head_ = false;
  OutputQueue output_;
};

}  // namespace kgpu::http
