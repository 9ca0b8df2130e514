// Images that engines load from a file, made here: no registry.
#pragma once

#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/image_tree.h"

namespace kgpu::engines {

inline constexpr const char* kImageName = "localhost/kgpu-bench:latest";

struct ImageOptions {
  e2e::ImageFamily family = e2e::ImageFamily::kDebianLike;
  std::vector<std::string> env = {};  // the image's own variables
  // Nodes of GPU 0 to 3 in the image: whether they open depends on the device cgroup alone. Not for
  // users who may not create nodes.
  bool has_nodes = true;
};

// `name` below `dir`: the root file system, "rootfs"; and an archive in the format of `docker
// save`, "image.tar", which docker, containerd and podman load. It runs `sleep` unless configured
// otherwise.
class Image {
 public:
  explicit Image(const ImageOptions& options = {});
  std::string rootfs() const { return dir_.At("rootfs"); }
  // Created by the first call.
  std::string archive();

 private:
  TempDir dir_;
  ImageOptions options_;
};

}  // namespace kgpu::engines
