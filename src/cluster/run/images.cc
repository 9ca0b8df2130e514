#include "src/cluster/run/images.h"

#include <algorithm>
#include <array>

namespace kgpu::run {
namespace {

// A new version of an image is a change of its row: the tag and its CUDA together.
constexpr std::array kBuiltin = {
    BuiltinImage{RunKind::kShell, "docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "12.4.1",
                 "its tag"},
    BuiltinImage{RunKind::kJupyter, "docker.io/tensorflow/tensorflow:2.17.0-gpu-jupyter", "12.3",
                 "TensorFlow's tested build configurations"},
};

}  // namespace

std::span<const BuiltinImage> BuiltinImages() {
  return kBuiltin;
}

const BuiltinImage* DefaultImage(RunKind kind) {
  const auto* const found = std::ranges::find(kBuiltin, kind, &BuiltinImage::kind);
  return found == kBuiltin.end() ? nullptr : found;
}

const BuiltinImage* FindBuiltin(std::string_view image) {
  const auto* const found = std::ranges::find(kBuiltin, image, &BuiltinImage::image);
  return found == kBuiltin.end() ? nullptr : found;
}

}  // namespace kgpu::run
