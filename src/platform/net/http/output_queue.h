// Bytes to be sent to a peer, in the pieces in which they were added.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace kgpu::http {

class OutputQueue {
 public:
  static constexpr size_t kMaxPieces = 8;

  void Append(std::string bytes) {
    if (!bytes.empty()) {
      size_ += bytes.size();
      pieces_.push_back({.own = std::move(bytes), .shared = nullptr});
    }
  }

  // Takes what is left of `other`, whose first piece must be whole.
  void Take(OutputQueue& other) {
    size_ += std::exchange(other.size_, 0);
    std::ranges::move(other.pieces_, std::back_inserter(pieces_));
    other.pieces_.clear();
  }

  // Ignores null.
  void AppendShared(std::shared_ptr<const std::string> bytes) {
    if (bytes && !bytes->empty()) {
      size_ += bytes->size();
      pieces_.push_back({.own = {}, .shared = std::move(bytes)});
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Fills in the first pieces, for writev(2) and sendmsg(2); returns how many.
  size_t Fill(std::span<iovec, kMaxPieces> vectors) {
    size_t count = 0;
    for (const Piece& piece : pieces_) {
      if (count == vectors.size()) {
        break;
      }
      const std::string& bytes = piece.bytes();
      const size_t sent = count == 0 ? front_sent_ : 0;
      // sendmsg(2) only reads them.
      vectors[count++] = {.iov_base = const_cast<char*>(bytes.data()) + sent,
                          .iov_len = bytes.size() - sent};
    }
    return count;
  }

  // Removes the first `count` bytes, which have been sent.
  void Consume(size_t count) {
    size_ -= count;
    front_sent_ += count;
    while (!pieces_.empty() && front_sent_ >= pieces_.front().bytes().size()) {
      front_sent_ -= pieces_.front().bytes().size();
      pieces_.pop_front();
    }
  }

 private:
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;
    const std::string& bytes() const { return shared ? *shared : own; }
  };

  std::deque<Piece> pieces_;
  size_t front_sent_ = 0;  // of the first piece
  size_t size_ = 0;
};

}  // namespace kgpu::http
