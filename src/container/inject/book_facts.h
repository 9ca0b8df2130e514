// The injection book as what requirements of images are held against.
#pragma once

#include <vector>

#include "src/container/inject/book.h"
#include "src/gpu/cuda/requirement.h"

namespace kgpu::inject {

// Of the host of `book`, for a container that is to see `visible`, devices of the book.
cuda::HostFacts FactsFor(const Book& book, const std::vector<const BookDevice*>& visible);

}  // namespace kgpu::inject
