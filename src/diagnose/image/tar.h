// Reads the entries of a tar archive in order. Sources: POSIX "pax" (ustar and extended headers),
// GNU tar's long names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/compress/byte_source.h"

namespace kgpu::image {

struct TarEntry {
  std::string path;  // without "./" in front
  bool is_file = false;
  uint64_t size = 0;    // of its content
  uint64_t offset = 0;  // of its content, from the archive's start
};

class TarReader {
 public:
  // Borrows `source`, which must be at the first byte of the archive.
  explicit TarReader(compress::ByteSource& source) : source_(source) {}

  // False at the end. Skips the rest of the previous entry. Errors: InvalidArgument (no tar, or
  // damaged), those of the source.
  StatusOr<bool> Next(TarEntry& entry);
  // The content of the current entry. Errors: OutOfRange (more than `limit`).
  StatusOr<std::string> ReadBody(size_t limit);

 private:
  // False at the end.
  StatusOr<bool> ReadBlock(std::string& block);
  Status Advance(uint64_t count);
  StatusOr<std::string> ReadLongText(uint64_t size);

  compress::ByteSource& source_;
  uint64_t at_ = 0;    // bytes read from the source
  uint64_t left_ = 0;  // of the body
  uint64_t filling_ = 0;
};

}  // namespace kgpu::image
