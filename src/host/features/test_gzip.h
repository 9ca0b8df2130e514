// Packs texts as `gzip` does, for tests of what unpacks them.
#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace kgpu::features {

inline std::string Gzip(std::string text) {
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());  // NOLINT: zlib's own type
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());  // NOLINT: zlib's own type
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END ? out : throw std::runtime_error("deflate");
}

}  // namespace kgpu::features
