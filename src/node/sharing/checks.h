// Checks of settings that several kinds make.
#pragma once

#include "src/node/sharing/kind.h"

namespace kgpu::sharing {

inline void RefuseThreads(const GivenFields& given, const Refuse& refuse) {
  if (given.threads) {
    refuse("threads is for by: mps: remove it");
  }
}

}  // namespace kgpu::sharing
