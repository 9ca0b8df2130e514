#include "src/platform/net/http/server_line.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::http {
namespace {

// Limit for encrypted data that the peer has not taken yet.
constexpr size_t kMaxSealed = size_t{64} << 10;

// No handshake begins with a letter, every method does.
bool IsPlain(std::string_view bytes) {
  return !bytes.empty() && bytes.front() >= 'A' && bytes.front() <= 'Z';
}

}  // namespace

bool ServerLine::BeginsHandshake(std::string_view bytes) const {
  return session_ != nullptr && !has_begun_ && !IsPlain(bytes);
}

void ServerLine::Receive(std::string_view bytes, WallTime now) {
  if (session_ != nullptr && !std::exchange(has_begun_, true) && IsPlain(bytes)) {
    session_.reset();
    if (!takes_plain_) {
      return http_.Refuse(400, "this address serves HTTPS: use https://", now);
    }
  }
  if (session_ == nullptr) {
    return Pass(bytes, now);
  }
  const Status status = session_->Feed(bytes);
  Pass(session_->TakeInput(), now);
  if (!status.ok()) {
    return Break(status);
  }
  if (session_->has_peer_closed()) {
    http_.ReceiveEnd();
  }
  wire_.Append(session_->TakeOutput());
}

void ServerLine::Pass(std::string_view text, WallTime now) {
  if (protocol_ == Protocol::kUnknown) {
    first_bytes_ += text;
    SettleProtocol();
    if (protocol_ == Protocol::kHttp1) {
      http_.Receive(TakeFirstBytes(), now);
    }
  } else if (protocol_ == Protocol::kHttp2) {
    first_bytes_ += text;
  } else if (!text.empty()) {
    http_.Receive(text, now);
  }
}

void ServerLine::SettleProtocol() {
  const std::string agreed = session_ == nullptr ? "" : session_->Protocol();
  const std::string_view front = std::string_view(first_bytes_).substr(0, kHttp2Preface.size());
  // A connection that was refused already gets its answer in HTTP/1.1.
  if (http_.phase() == Phase::kClosing || (!agreed.empty() && agreed != "h2") ||
      (agreed.empty() && !kHttp2Preface.starts_with(front))) {
    protocol_ = Protocol::kHttp1;
  } else if (agreed == "h2" || front == kHttp2Preface) {
    protocol_ = Protocol::kHttp2;
  }
}

void ServerLine::Fill() {
  if (session_ == nullptr || has_ended_ || !session_->is_open()) {
    return;
  }
  while (!http_.output().empty() && wire_.size() < kMaxSealed) {
    Seal();
  }
  if (http_.output().empty() && http_.phase() == Phase::kClosing && !has_ended_) {
    has_ended_ = true;
    session_->Close();
    wire_.Append(session_->TakeOutput());
  }
}

void ServerLine::Seal() {
  std::array<iovec, OutputQueue::kMaxPieces> pieces{};
  const size_t count = http_.output().Fill(pieces);
  size_t taken = 0;
  for (size_t i = 0; i < count && taken < kMaxSealed; ++i) {
    const size_t size = std::min(pieces.at(i).iov_len, kMaxSealed - taken);
    const Status status = session_->Write({static_cast<const char*>(pieces.at(i).iov_base), size});
    if (!status.ok()) {
      return Break(status);
    }
    taken += size;
  }
  http_.output().Consume(taken);
  wire_.Append(session_->TakeOutput());
}

void ServerLine::Break(const Status& status) {
  KGPU_LOG(kDebug, "TLS connection ended", {"reason", Message(status)});
  has_ended_ = true;
  http_.Abort();
  wire_.Append(session_->TakeOutput());  // why, in TLS's words
}

}  // namespace kgpu::http
