// Bytes as they were before gzip or zstd packed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/compress/byte_source.h"

namespace kgpu::compress {

// `packed` as it was before gzip or zstd; itself where it is packed by neither. Of many streams,
// which parallel packers write, one after the other. What comes out is taken from `budget`, a count
// of bytes that is borrowed. Errors: InvalidArgument (broken), OutOfRange (more than the budget).
StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, uint64_t& budget);

// The text in a gzip file. Errors: InvalidArgument (not gzip, damaged, cut off), OutOfRange (more
// than `limit` bytes come out).
StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit);

}  // namespace kgpu::compress
