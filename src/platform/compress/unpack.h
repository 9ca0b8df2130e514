// Decompresses gzip and zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/compress/byte_source.h"

namespace kgpu::compress {

// Decompresses `packed`; returns it unchanged if it is neither gzip nor zstd. Several streams in a
// row, as parallel packers write them, become one. The bytes that come out are deducted from
// `budget`, which is borrowed. Errors: InvalidArgument (damaged), OutOfRange (over the budget).
StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, uint64_t& budget);

// The text of a gzip file. Errors: InvalidArgument (not gzip, damaged, truncated), OutOfRange (more
// than `limit` bytes come out).
StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit);

}  // namespace kgpu::compress
