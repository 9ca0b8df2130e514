#include "src/platform/net/h2/peer_line.h"

namespace kgpu::h2 {
namespace {

// What is encrypted ahead of the peer.
constexpr size_t kMaxSealed = size_t{64} << 10;

}  // namespace

Status PeerLine::Receive(std::string_view bytes, SteadyTime now) {
  if (session_ == nullptr) {
    return connection_.Receive(bytes, now);
  }
  Status fed = session_->Feed(bytes);
  // What came before the broken part is valid.
  const std::string text = session_->TakeInput();
  Status received = text.empty() ? OkStatus() : connection_.Receive(text, now);
  TakeSealed();
  if (!fed.ok()) {
    has_ended_ = true;
    return fed;
  }
  return received;
}

std::string_view PeerLine::Output() {
  if (session_ == nullptr) {
    return connection_.Output();
  }
  if (sent_ == sealed_.size()) {
    Seal();
  }
  return std::string_view(sealed_).substr(sent_);
}

void PeerLine::Consume(size_t count) {
  if (session_ == nullptr) {
    return connection_.Consume(count);
  }
  sent_ += count;
  if (sent_ == sealed_.size()) {
    sealed_.clear();
    sent_ = 0;
  }
}

void PeerLine::End() {
  if (session_ != nullptr && !has_ended_) {
    has_ended_ = true;
    session_->Close();
    TakeSealed();
  }
}

void PeerLine::Seal() {
  if (has_ended_) {
    return;
  }
  const std::string_view text = connection_.Output().substr(0, kMaxSealed);
  if (text.empty()) {
    return;
  }
  has_ended_ = !session_->Write(text).ok();
  connection_.Consume(text.size());
  TakeSealed();
}

void PeerLine::TakeSealed() {
  sealed_ += session_->TakeOutput();
}

}  // namespace kgpu::h2
