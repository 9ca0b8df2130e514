#include "src/platform/net/http/server_connection.h"

#include <utility>

#include "src/platform/net/http/writer.h"

namespace kgpu::http {

ServerConnection::ServerConnection(const ParserLimits& limits, bool judges)
    : limits_(limits), judges_(judges) {
}

bool ServerConnection::wants_input() const {
  return !has_input_ended_ && phase_ != Phase::kClosing &&
         // While a request is in progress the next ones may come, but not without end.
         (phase_ < Phase::kReady || input_.size() < limits_.header);
}

void ServerConnection::Receive(std::string_view bytes, WallTime now) {
  if (phase_ == Phase::kClosing) {
    return;
  }
  input_ += bytes;
  Parse(now);
}

void ServerConnection::ReceiveEnd() {
  has_input_ended_ = true;
  // Half a request does not count.
  if (phase_ < Phase::kReady || phase_ == Phase::kStreaming) {
    phase_ = Phase::kClosing;
  }
}

void ServerConnection::Parse(WallTime now) {
  if (phase_ >= Phase::kReady || input_.empty()) {
    return;
  }
  if (!parser_) {
    parser_ = std::make_unique<RequestParser>(limits_);
    is_admitted_ = false;
  }
  input_.erase(0, parser_->Feed(input_));
  switch (parser_->state()) {
    case ParseState::kHeader:
      phase_ = input_.empty() ? Phase::kIdle : Phase::kHeader;
      return;
    case ParseState::kBody:
      phase_ = Phase::kBody;
      if (!is_admitted_ && !judges_) {
        Admit();
      }
      return;
    case ParseState::kDone:
      phase_ = Phase::kReady;
      return;
    case ParseState::kRefused:
      return Refuse(parser_->refusal().code, parser_->refusal().reason, now);
  }
}

void ServerConnection::Admit() {
  is_admitted_ = true;
  if (parser_->expects_continue()) {
    output_.Append(std::string(kContinue));
  }
}

Request ServerConnection::TakeRequest() {
  phase_ = Phase::kHandling;
  keeps_alive_ = parser_->keeps_alive() && !is_shut_down_;
  is_http11_ = parser_->is_http11();
  Request request = parser_->Take();
  is_head_ = request.method == "HEAD";
  parser_.reset();
  return request;
}

void ServerConnection::Respond(Response response, WallTime now) {
  if (phase_ != Phase::kHandling) {
    return;
  }
  // The length of a body that is left out may be known to nobody but the handler.
  const bool is_given = is_head_ && response.body_size() == 0;
  output_.Append(
      ResponseHead(response, is_given ? Framing::kGiven : Framing::kLength, keeps_alive_, now));
  const bool has_body = !is_head_ && response.code != 204 && response.code != 304;
  if (has_body) {
    output_.AppendShared(std::move(response.shared_front));
    output_.Append(std::move(response.body));
  }
  FinishAnswer(now);
}

void ServerConnection::BeginStream(Response head, WallTime now) {
  if (phase_ != Phase::kHandling) {
    return;
  }
  keeps_alive_ = keeps_alive_ && is_http11_;
  output_.Append(
      ResponseHead(head, is_http11_ ? Framing::kChunked : Framing::kUntilClose, keeps_alive_, now));
  if (is_head_) {
    return FinishAnswer(now);
  }
  phase_ = Phase::kStreaming;
  if (head.shared_front) {
    AppendPiece(*head.shared_front);
  }
  AppendPiece(std::move(head.body));
  if (has_input_ended_) {
    phase_ = Phase::kClosing;
  }
}

void ServerConnection::Write(std::string_view bytes) {
  if (phase_ == Phase::kStreaming) {
    output_.Append(is_http11_ ? Chunk(bytes) : std::string(bytes));
  }
}

void ServerConnection::AppendPiece(std::string bytes) {
  output_.Append(is_http11_ ? Chunk(bytes) : std::move(bytes));
}

void ServerConnection::EndStream(WallTime now) {
  if (phase_ != Phase::kStreaming) {
    return;
  }
  if (is_http11_) {
    output_.Append(std::string(kLastChunk));
  }
  FinishAnswer(now);
}

void ServerConnection::FinishAnswer(WallTime now) {
  has_responded_ = true;
  if (!keeps_alive_) {
    phase_ = Phase::kClosing;
    return;
  }
  phase_ = Phase::kIdle;
  Parse(now);
  if (has_input_ended_ && phase_ < Phase::kReady) {
    phase_ = Phase::kClosing;
  }
}

void ServerConnection::Refuse(int code, std::string_view reason, WallTime now) {
  Refuse(TextResponse(code, reason), now);
}

void ServerConnection::Refuse(const Response& response, WallTime now) {
  RefuseWith(ResponseHead(response, Framing::kLength, false, now) + response.body);
}

void ServerConnection::RefuseWith(std::string bytes) {
  output_.Append(std::move(bytes));
  input_.clear();
  parser_.reset();  // with the body so far
  phase_ = Phase::kClosing;
}

void ServerConnection::Shutdown(bool has_unread) {
  is_shut_down_ = true;
  keeps_alive_ = false;
  if (phase_ == Phase::kIdle && has_responded_ && !has_unread) {
    phase_ = Phase::kClosing;
  }
}

void ServerConnection::Abort() {
  output_ = OutputQueue();
  input_.clear();
  phase_ = Phase::kClosing;
}

}  // namespace kgpu::http
