// A stream of bytes: part of a file, or a text in memory.
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
  // Reads at least one byte into `out`, which must not be empty; returns 0 at the end.
  virtual StatusOr<size_t> Read(std::span<char> out) = 0;
  // Skips `count` bytes, or fewer if the end comes first.
  virtual Status Skip(uint64_t count) = 0;
};

// `size` bytes of a file, from `offset`. The file is borrowed.
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

// Bytes in memory, which are borrowed.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}

  StatusOr<size_t> Read(std::span<char> out) override;
  Status Skip(uint64_t count) override;

 private:
  std::string_view text_;
};

// Skips `count` bytes of `source` by reading them, or fewer if the end comes first.
Status SkipByReading(ByteSource& source, uint64_t count);

// All of `source`. Errors: OutOfRange (more than `limit` bytes).
StatusOr<std::string> ReadWhole(ByteSource& source, size_t limit);

}  // namespace kgpu::compress
