// Owns one file descriptor and closes it on destruction. All descriptors must be close-on-exec:
// this class cannot check that, so the calls that create them must ask for it.
#pragma once

#include <unistd.h>

#include <utility>

namespace kgpu {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset(other.Release());
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool is_valid() const { return fd_ >= 0; }
  // Gives up ownership without closing the descriptor.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    // close(2) must not be retried after EINTR on Linux: the descriptor is gone either way.
    if (const int old = std::exchange(fd_, fd); old >= 0) {
      ::close(old);
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace kgpu
