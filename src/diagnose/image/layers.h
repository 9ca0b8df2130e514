// The CUDA libraries that the layers of an image hold, the lowest layer first.
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

// No image of use has more CUDA libraries, or a longer path: PATH_MAX of Linux.
inline constexpr size_t kLibraryLimit = 1000;
inline constexpr size_t kPathLimit = 4096;

// How much may still be looked at. One serves a whole image: a layer of a few megabytes may unpack
// to terabytes, and a manifest may name thousands of layers.
struct Budget {
  uint64_t bytes = uint64_t{64} << 30;  // that come out of packed layers
  size_t entries = 4'000'000;           // of archives and folders; large images have some 300,000
};

// Collects what is left when all layers lie over each other.
class LibraryCollector {
 public:
  // `path` of an entry of the layer that is read now.
  void See(std::string_view path);
  // The layer that is read now does not show `path` of the layers below, nor what is in it; empty:
  // it shows nothing of them.
  void Hide(std::string_view path);
  // By what files are called that hide others: those of archives, and of fuse-overlayfs.
  void SeeEntry(std::string_view path);
  void EndLayer();
  std::vector<CudaLibrary> Take();

  // Whether layers below hold anything that could be hidden.
  bool has_lower() const { return !found_.empty(); }
  // Of the whole image.
  Budget& budget() { return budget_; }

 private:
  using Libraries = std::map<std::string, CudaLibrary, std::less<>>;

  Libraries found_;  // in the layers that ended
  Libraries layer_;  // in the one that is read now
  Budget budget_;
};

// A layer as a tar archive, packed by gzip or zstd or not at all. Errors: those of Unpack and
// TarReader, OutOfRange (more than the budget); what was read until then counts.
Status ReadLayer(std::unique_ptr<compress::ByteSource> layer, LibraryCollector& collector);

// A layer, or a whole root file system, as a folder below `root`, where files and folders are
// hidden as overlayfs or fuse-overlayfs does it. Links are not followed, nor what is mounted in it.
// Returns how many folders in it could not be read; what packages only pass through is left out.
// Errors: those of the root, OutOfRange.
StatusOr<size_t> ReadLayerFolder(const sys::Root& root, const std::string& folder,
                                 LibraryCollector& collector);

}  // namespace kgpu::image
