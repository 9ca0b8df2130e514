// Finds the end of a message's header in bytes that come in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kgpu::http {

class HeaderScan {
 public:
  enum class Result : uint8_t {
    kNeedMore,
    kFound,    // size() is that of the header with its empty line
    kTooLong,  // no end within the limit
    kNoHttp,   // starts like no message, or has a line end that is not CR LF
  };

  explicit HeaderScan(size_t limit) : limit_(limit) {}

  // `bytes` start with the message and are those of the call before with more behind them.
  Result Scan(std::string_view bytes) {
    if (!bytes.empty() && (static_cast<unsigned char>(bytes[0]) <= 0x20 || bytes[0] >= 0x7f)) {
      return Result::kNoHttp;  // a TLS handshake, say: no reason to wait for its end
    }
    for (; seen_ < bytes.size(); ++seen_) {
      if (seen_ >= limit_) {
        return Result::kTooLong;
      }
      if (bytes[seen_] != '\n') {
        continue;
      }
      if (bytes[seen_ - 1] != '\r') {
        return Result::kNoHttp;
      }
      if (bytes.substr(0, seen_ + 1).ends_with("\r\n\r\n")) {
        ++seen_;
        return Result::kFound;
      }
    }
    return Result::kNeedMore;
  }

  size_t size() const { return seen_; }

 private:
  size_t limit_;
  size_t seen_ = 0;
};

}  // namespace kgpu::http
