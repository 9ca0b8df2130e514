// Images in files: an OCI image layout (a folder or a tar archive), the output of `docker save` and
// `podman save`, and the bundle of an OCI runtime.
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
  std::string name{};                  // selects one of several images; empty: the only one
  std::string architecture = "amd64";  // selects one of several for a name; if missing, the first
  bool reads_layers = true;
};

// Whether ReadArchive can read `path` of `root`: a file, or a folder with one of the files that
// mark an image.
bool IsArchive(const sys::Root& root, const std::string& path);

// The image in `path` of `root`. Its notes say which parts of its layers are unreadable. Errors:
// NotFound, InvalidArgument (none of the forms above; several images and no name).
StatusOr<ImageFacts> ReadArchive(const sys::Root& root, const std::string& path,
                                 const PickOptions& options);

// The image in an open tar archive; `name` is for errors, which are as above.
StatusOr<ImageFacts> ReadTarArchive(UniqueFd fd, const std::string& name,
                                    const PickOptions& options);

// The image whose manifest, or index of manifests, is `digest` ("sha256:…") in a store with blobs
// at blobs/<algorithm>/<hex>.
StatusOr<ImageFacts> ReadManifest(const BlobStore& store, std::string_view digest,
                                  const PickOptions& options);

}  // namespace kgpu::image
