// Metadata of an image: its own configuration, and what engines report about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/platform/base/status.h"

namespace kgpu::image {

// Size limit of a configuration or an engine's output.
inline constexpr size_t kConfigLimit = size_t{8} << 20;

// Reads an image's configuration: architecture, config.Env, config.Labels. Source: the OCI image
// specification, "Image Configuration". `file` is only used in errors. Errors: InvalidArgument.
Status ReadImageConfig(std::string_view text, std::string_view file, ImageFacts& image);

// Reads a container's configuration: process.env; returns the folder of its root file system
// ("rootfs"). Source: the OCI runtime specification, "config". Errors: InvalidArgument.
StatusOr<std::string> ReadBundleConfig(std::string_view text, std::string_view file,
                                       ImageFacts& image);

// Whether a config.json is an OCI runtime's: many other programs use that file name.
bool IsBundleConfig(std::string_view text);

// Reads the output of `docker image inspect` and `podman image inspect` for one image. Returns its
// layer folders, lowest first; none if the engine does not list them. Errors: InvalidArgument.
StatusOr<std::vector<std::string>> ReadInspect(std::string_view text, std::string_view file,
                                               ImageFacts& image);

// Reads the output of `crictl inspecti --output json`. Errors: InvalidArgument.
Status ReadCriImage(std::string_view text, std::string_view file, ImageFacts& image);

}  // namespace kgpu::image
