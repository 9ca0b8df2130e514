// Finds the end of a message's header in bytes that arrive in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kgpu::http {

class HeaderScan {
 public:
  enum class Result : uint8_t {
    kNeedMore,
    kFound,    // size() is the header's, with its empty line
    kTooLong,  // no end within the limit
    kNoHttp,   // does not start like a message, or a line end is not CR LF
  };

  explicit HeaderScan(size_t limit) : limit_(limit) {}

  // `bytes` start with the message: those of the previous call with more after them.
  Result Scan(std::string_view bytes) {
    if (!bytes.empty() && (static_cast<unsigned char>(bytes[0]) <= 0x20 || bytes[0] >= 0x7f)) {
      return Result::kNoHttp;  // a TLS handshake, say: do not wait for its end
    }
    const std::string_view within = bytes.substr(0, limit_);
    for (size_t end = within.find('\n', seen_); end != within.npos;
         end = within.find('\n', seen_)) {
      // Not the first byte, see above.
      if (within[end - 1] != '\r') {
        return Result::kNoHttp;
      }
      seen_ = end + 1;
      if (within.substr(0, seen_).ends_with("\r\n\r\n")) {
        return Result::kFound;
      }
    }
    seen_ = within.size();
    return bytes.size() > limit_ ? Result::kTooLong : Result::kNeedMore;
  }

  size_t size() const { return seen_; }

 private:
  size_t limit_;
  size_t seen_ = 0;
};

}  // namespace kgpu::http
