// Reads the entries of a tar archive, one after the other. Sources: POSIX "pax" (ustar and extended
// headers), GNU tar's long names.
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
  uint64_t size = 0;    // of its bytes
  uint64_t offset = 0;  // of the first of them, from where the archive begins
};

class TarReader {
 public:
  // Borrows `source`, which stands at the first byte of the archive.
  explicit TarReader(compress::ByteSource& source) : source_(source) {}

  // False at the end. What is left of the entry before is gone over. Errors: InvalidArgument (no
  // tar, or broken), those of the source.
  StatusOr<bool> Next(TarEntry& entry);
  // The bytes of the entry that Next gave. Errors: OutOfRange (more than `limit`).
  StatusOr<std::string> ReadBody(size_t limit);

 private:
  // False: no more.
  StatusOr<bool> ReadBlock(std::string& block);
  Status Advance(uint64_t count);
  StatusOr<std::string> ReadLongText(uint64_t size);

  compress::ByteSource& source_;
  uint64_t at_ = 0;    // bytes read of the source
  uint64_t left_ = 0;  // of the body
  uint64_t filling_ = 0;
};

}  // namespace kgpu::image
