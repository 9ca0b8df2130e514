// The images that `kgpu run` uses by itself, and the CUDA version of each.
#pragma once

#include <span>
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

}  // namespace kgpu::run
