#include "src/platform/compress/byte_source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "src/platform/base/status_macros.h"

namespace kgpu::compress {

StatusOr<size_t> FilePart::Read(std::span<char> out) {
  const size_t wanted = std::min<uint64_t>(out.size(), end_ - at_);
  if (wanted == 0) {
    return 0U;
  }
  ssize_t got = -1;
  do {
    got = pread(fd_, out.data(), wanted, static_cast<off_t>(at_));
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return ErrnoStatus(errno, "read");
  }
  at_ += static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

Status FilePart::Skip(uint64_t count) {
  at_ += std::min(count, end_ - at_);
  return OkStatus();
}

StatusOr<size_t> TextSource::Read(std::span<char> out) {
  const size_t got = text_.copy(out.data(), out.size());
  text_.remove_prefix(got);
  return got;
}

Status TextSource::Skip(uint64_t count) {
  text_.remove_prefix(std::min<uint64_t>(count, text_.size()));
  return OkStatus();
}

Status SkipByReading(ByteSource& source, uint64_t count) {
  std::array<char, size_t{16} << 10> dropped{};
  while (count > 0) {
    const size_t wanted = std::min<uint64_t>(count, dropped.size());
    ASSIGN_OR_RETURN(const size_t got, source.Read(std::span(dropped).first(wanted)));
    if (got == 0) {
      break;
    }
    count -= got;
  }
  return OkStatus();
}

StatusOr<std::string> ReadWhole(ByteSource& source, size_t limit) {
  std::string text;
  std::array<char, size_t{16} << 10> piece{};
  while (true) {
    ASSIGN_OR_RETURN(const size_t got, source.Read(piece));
    if (got == 0) {
      return text;
    }
    if (text.size() + got > limit) {
      return OutOfRange("exceeds {} bytes", limit);
    }
    text.append(piece.data(), got);
  }
}

}  // namespace kgpu::compress
