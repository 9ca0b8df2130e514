// Bytes on their way to a peer, in the pieces they were made in.
#pragma once

#include <sys/uio.h>

#include <array>
#include <deque>
#include <span>
#include <string>

namespace kgpu::http {

class OutputQueue {
 public:
  static constexpr size_t kMaxPieces = 8;

  void Append(std::string bytes) {
    if (!bytes.empty()) {
      size_ += bytes.size();
      pieces_.push_back(std::move(bytes));
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The first pieces, for writev(2) and sendmsg(2); how many were filled.
  size_t Fill(std::span<iovec, kMaxPieces> vectors) {
    size_t count = 0;
    for (std::string& piece : pieces_) {
      if (count == vectors.size()) {
        break;
      }
      const size_t sent = count == 0 ? front_sent_ : 0;
      vectors[count++] = {.iov_base = piece.data() + sent, .iov_len = piece.size() - sent};
    }
    return count;
  }

  // The first `count` bytes have gone.
  void Consume(size_t count) {
    size_ -= count;
    front_sent_ += count;
    while (!pieces_.empty() && front_sent_ >= pieces_.front().size()) {
      front_sent_ -= pieces_.front().size();
      pieces_.pop_front();
    }
  }

 private:
  std::deque<std::string> pieces_;
  size_t front_sent_ = 0;  // of the first piece
  size_t size_ = 0;
};

}  // namespace kgpu::http
