// What is written about an image: its own configuration, and what engines tell of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/platform/base/status.h"

namespace kgpu::image {

// A configuration or an answer with more bytes is refused.
inline constexpr size_t kConfigLimit = size_t{8} << 20;

// The configuration of an image: architecture, config.Env, config.Labels. Source: the OCI image
// specification, "Image Configuration". `file` is only named in errors. Errors: InvalidArgument.
Status ReadImageConfig(std::string_view text, std::string_view file, ImageFacts& image);

// The configuration of a container: process.env and the folder of its root file system, which is
// returned ("rootfs"). Source: the OCI runtime specification, "config". Errors: InvalidArgument.
StatusOr<std::string> ReadBundleConfig(std::string_view text, std::string_view file,
                                       ImageFacts& image);

// Whether a config.json is a runtime's: many other programs have files of that name.
bool IsBundleConfig(std::string_view text);

// What `docker image inspect` and `podman image inspect` print of one image. Returns the folders of
// its layers, the lowest first; none where the engine does not say. Errors: InvalidArgument.
StatusOr<std::vector<std::string>> ReadInspect(std::string_view text, std::string_view file,
                                               ImageFacts& image);

// What `crictl inspecti --output json` prints. Errors: InvalidArgument.
Status ReadCriImage(std::string_view text, std::string_view file, ImageFacts& image);

}  // namespace kgpu::image
