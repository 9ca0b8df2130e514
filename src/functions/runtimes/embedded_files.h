// deploy/functions as a table, which kgpu_embed makes. Private to this module.
#pragma once

#include <span>

#include "src/functions/runtimes/runtimes.h"

namespace kgpu::functions {

// Paths are relative to deploy/functions: "cpp/template/src/handler.cc". Sorted.
std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace kgpu::functions
