// The CUDA libraries that the layers of an image hold, the lowest layer first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/image/byte_source.h"
#include "src/image/facts.h"
#include "src/sys/root.h"

namespace kgpu::image {

// So many entries of one layer are looked at; large images have some 300,000.
inline constexpr size_t kEntryLimit = 4'000'000;
// So many bytes of one layer are unpacked at most.
inline constexpr uint64_t kLayerByteLimit = uint64_t{64} << 30;

// Collects what is left when all layers lie over each other.
class LibraryCollector {
 public:
  // `path` of an entry of the layer that is read now.
  void See(std::string_view path);
  // The layer that is read now does not show `path` of the layers below, nor what is in it.
  void Hide(std::string_view path);
  void EndLayer();
  std::vector<CudaLibrary> Take();

 private:
  std::map<std::string, CudaLibrary> found_;   // in the layers that ended
  std::map<std::string, CudaLibrary> layer_;   // in the one that is read now
  std::set<std::string, std::less<>> hidden_;  // by it
};

// A layer as a tar archive, packed by gzip or not at all. Errors: those of Unpack and TarReader,
// OutOfRange (more than the limits); what was read until then counts.
Status ReadLayer(std::unique_ptr<ByteSource> layer, LibraryCollector& collector);

// A layer, or a whole root file system, as a folder below `root`, where a file is hidden as
// overlayfs does it: by a character device 0:0. Links are not followed. Errors: those of the root,
// OutOfRange.
Status ReadLayerFolder(const sys::Root& root, const std::string& folder,
                       LibraryCollector& collector);

}  // namespace kgpu::image
