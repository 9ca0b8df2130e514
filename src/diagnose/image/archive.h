// Images in files: an OCI image layout (a folder or a tar archive), what `docker save` and `podman
// save` write, and the bundle of an OCI runtime.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/image/blob_store.h"
#include "src/diagnose/image/facts.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::image {

struct PickOptions {
  std::string name{};                  // of several images in one archive; empty: the only one
  std::string architecture = "amd64";  // of several for one name; where it is not there, the first
  bool reads_layers = true;
};

// Whether `path` of `root` is something that ReadArchive reads: a file, or a folder with one of the
// files that it begins with.
bool IsArchive(const sys::Root& root, const std::string& path);

// The image in `path` of `root`. What cannot be seen of its layers is in its notes. Errors:
// NotFound, InvalidArgument (none of the forms above; several images and no name).
StatusOr<ImageFacts> ReadArchive(const sys::Root& root, const std::string& path,
                                 const PickOptions& options);

// The image in an open tar archive; `name` is for errors, which are as above.
StatusOr<ImageFacts> ReadTarArchive(UniqueFd fd, const std::string& name,
                                    const PickOptions& options);

// The image whose manifest, or index of manifests, is `digest` ("sha256:…") in a store that keeps
// its blobs as blobs/<algorithm>/<hex>.
StatusOr<ImageFacts> ReadManifest(const BlobStore& store, std::string_view digest,
                                  const PickOptions& options);

}  // namespace kgpu::image
