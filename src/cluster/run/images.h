// The images that `kgpu run` uses by itself, and the CUDA version of each; what an image's tag
// says.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/cluster/run/request.h"

namespace kgpu::run {

struct BuiltinImage {
  RunKind kind;
  std::string_view image;
  std::string_view cuda;
  std::string_view source;  // of the version
};

std::span<const BuiltinImage> BuiltinImages();
// For a kind; null: the user has to name one.
const BuiltinImage* DefaultImage(RunKind kind);
// By its complete name; null: none of ours.
const BuiltinImage* FindBuiltin(std::string_view image);

// The CUDA version that a tag names by a custom of its field: nvidia/cuda:12.4.1-base-ubuntu22.04,
// pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime, app:1.0-cu121. Empty: it names none.
std::string CudaOfTag(std::string_view image);

}  // namespace kgpu::run
