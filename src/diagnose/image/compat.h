// The cuda-compat libraries of an image: pure.
#pragma once

#include "src/diagnose/image/facts.h"
#include "src/gpu/cuda/version.h"

namespace kgpu::image {

// One that runs programs of `cuda`, at least by minor-version compatibility; null: the image has
// none.
const CudaLibrary* FindCompat(const ImageFacts& image, const cuda::CudaVersion& cuda);

// That one to which the image's own LD_LIBRARY_PATH leads its programs; null: none, or one that
// does not run `cuda`. Links are not read: "/usr/local/cuda" may lead to each
// "/usr/local/cuda-12.4", and all of these must suit.
const CudaLibrary* FindSearchedCompat(const ImageFacts& image, const cuda::CudaVersion& cuda);

}  // namespace kgpu::image
