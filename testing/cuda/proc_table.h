// All functions of this library by name and version.
#pragma once

#include "src/gpu/cuda_abi/abi.h"

namespace kgpu::simcuda {

// The newest function that a program for `version` of CUDA may get. Where there is none for the
// streams of each thread, the other one is it.
cuda_api::ProcAddressStatus FindFunction(const char* name, int version, bool is_per_thread,
                                         void (**function)());

}  // namespace kgpu::simcuda
