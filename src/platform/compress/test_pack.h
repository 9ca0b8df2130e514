// Packs texts as `gzip` and `zstd` do, for tests of the code that unpacks them.
#pragma once

#include <zstd.h>

#include <string>
#include <string_view>

#include "src/platform/compress/gzip.h"

namespace kgpu::compress {

inline std::string Gzip(std::string_view text) {
  const GzipFront nothing = GzipWriter().Finish();
  return nothing.bytes + CompressRest(nothing, text);
}

inline std::string Zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

}  // namespace kgpu::compress
