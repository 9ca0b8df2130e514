// Bytes as they were before gzip or zstd packed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/diagnose/image/byte_source.h"
#include "src/platform/base/status.h"

namespace kgpu::image {

// How much may still be looked at. One serves a whole image: a layer of a few megabytes may unpack
// to terabytes, and a manifest may name thousands of layers.
struct Budget {
  uint64_t bytes = uint64_t{64} << 30;  // that come out of packed layers
  size_t entries = 4'000'000;           // of archives and folders; large images have some 300,000
};

// `packed` as it was before gzip or zstd; itself where it is packed by neither. What comes out is
// taken from `budget`, which is borrowed. Errors: InvalidArgument (broken), OutOfRange (more than
// the budget).
StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, Budget& budget);

}  // namespace kgpu::image
