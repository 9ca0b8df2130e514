// Where the parts of an image are: files of a folder, of an archive, of an engine's content store.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/compress/byte_source.h"
#include "src/platform/sys/root.h"

namespace kgpu::image {

// Files by name.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // Errors: NotFound, InvalidArgument (no plain file).
  virtual StatusOr<std::unique_ptr<compress::ByteSource>> Open(std::string_view path) const = 0;
  // For errors.
  virtual std::string NameOf(std::string_view path) const = 0;
};

// A plain file of `root`, open as long as the source lives. Errors: those of the root,
// InvalidArgument (no plain file: merely opening a device may trigger it).
StatusOr<std::unique_ptr<compress::ByteSource>> OpenFileOf(const sys::Root& root,
                                                           const std::string& path);

// A folder of `root`; no name and no link leads out of it. Errors: those of the root.
StatusOr<std::unique_ptr<BlobStore>> OpenFolderStore(const sys::Root& root,
                                                     const std::string& folder);

// A tar archive on a disk: indexes its entries once, then reads them in place. Errors: those of
// TarReader, OutOfRange (more files than an image has).
StatusOr<std::unique_ptr<BlobStore>> OpenTarStore(UniqueFd fd, std::string name);

}  // namespace kgpu::image
