// Finds the CUDA libraries in the layers of an image, lowest layer first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/platform/base/status.h"
#include "src/platform/compress/byte_source.h"
#include "src/platform/sys/root.h"

namespace kgpu::image {

// No useful image has more CUDA libraries, or a longer path (PATH_MAX of Linux).
inline constexpr size_t kLibraryLimit = 1000;
inline constexpr size_t kPathLimit = 4096;

// How much may still be read. One budget serves a whole image: a layer of a few megabytes may
// unpack to terabytes, and a manifest may list thousands of layers.
struct Budget {
  uint64_t bytes = uint64_t{64} << 30;  // output of decompression
  size_t entries = 4'000'000;           // of archives and folders; large images have about 300,000
};

// Collects what is visible after all layers are stacked.
class LibraryCollector {
 public:
  // `path` of an entry in the current layer.
  void See(std::string_view path);
  // The current layer hides `path` of lower layers, with its content; empty: it hides everything in
  // them.
  void Hide(std::string_view path);
  // By file names that hide others: those of archives, and of fuse-overlayfs.
  void SeeEntry(std::string_view path);
  void EndLayer();
  std::vector<CudaLibrary> Take();

  // Whether lower layers contain anything that could be hidden.
  bool has_lower() const { return !found_.empty(); }
  // Of the whole image.
  Budget& budget() { return budget_; }

 private:
  using Libraries = std::map<std::string, CudaLibrary, std::less<>>;

  Libraries found_;  // in completed layers
  Libraries layer_;  // in the current one
  Budget budget_;
};

// A layer as a tar archive, compressed by gzip, zstd or not at all. Errors: those of Unpack and
// TarReader, OutOfRange (over the budget); what was read before counts.
Status ReadLayer(std::unique_ptr<compress::ByteSource> layer, LibraryCollector& collector);

// A layer, or a whole root file system, as a folder below `root`, with files and folders hidden as
// in overlayfs or fuse-overlayfs. Follows no links and enters no mounts. Returns how many of its
// folders were unreadable, not counting those that packages only pass through. Errors: those of the
// root, OutOfRange.
StatusOr<size_t> ReadLayerFolder(const sys::Root& root, const std::string& folder,
                                 LibraryCollector& collector);

}  // namespace kgpu::image
