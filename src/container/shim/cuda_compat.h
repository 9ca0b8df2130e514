// CUDA's forward-compatibility libraries: a newer user-space driver on this host's kernel module.
// They come from a folder that the admin configured, never from an image. Source: NVIDIA's "CUDA
// Compatibility", "Forward Compatibility".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/index.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

struct CompatLibrary {
  std::string name;       // as programs load it: "libcuda.so.1"
  std::string real_name;  // "libcuda.so.550.54.15"
  std::string host_path;  // the real file
  bool operator==(const CompatLibrary&) const = default;
};

struct CompatLibraries {
  std::string driver_version;            // that they were made with: "550.54.15"
  std::string cuda_version;              // "12.4"
  std::vector<CompatLibrary> libraries;  // by name
};

// The libraries in `folder` below `root`. Errors: NotFound (no such folder, no libcuda.so.1 in it),
// InvalidArgument (a driver version without a known CUDA version).
StatusOr<CompatLibraries> ReadCompatLibraries(const sys::Root& root, std::string_view folder);

// Replaces the index's libraries in `edits` by these; 32-bit ones stay.
void UseCompatLibraries(const CompatLibraries& compat, const inject::InjectionIndex& index,
                        cdi::ContainerEdits& edits);

}  // namespace kgpu::shim
