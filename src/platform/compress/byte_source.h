// Bytes that come one after the other: a part of a file, a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::compress {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // At least one byte of `out`, which is not empty, or 0 at the end.
  virtual StatusOr<size_t> Read(std::span<char> out) = 0;
  // Goes over `count` bytes; over fewer where the end is nearer.
  virtual Status Skip(uint64_t count) = 0;
};

// A part of a file: from `offset`, `size` bytes long. The file is borrowed.
class FilePart final : public ByteSource {
 public:
  FilePart(int fd, uint64_t offset, uint64_t size) : fd_(fd), at_(offset), end_(offset + size) {}

  StatusOr<size_t> Read(std::span<char> out) override;
  Status Skip(uint64_t count) override;

 private:
  int fd_;
  uint64_t at_;
  uint64_t end_;
};

// Bytes at hand, which are borrowed.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}

  StatusOr<size_t> Read(std::span<char> out) override;
  Status Skip(uint64_t count) override;

 private:
  std::string_view text_;
};

// Goes over `count` bytes of `source` by reading them; over fewer where the end is nearer.
Status SkipByReading(ByteSource& source, uint64_t count);

// All of `source`. Errors: OutOfRange (more than `limit` bytes).
StatusOr<std::string> ReadWhole(ByteSource& source, size_t limit);

}  // namespace kgpu::compress
