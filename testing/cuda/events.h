// Events as another process gets them.
#pragma once

#include "src/gpu/cuda_abi/abi.h"

namespace kgpu::simcuda {

// False: the event was not made for other processes.
bool WriteEventHandle(cuda_api::Event event, cuda_api::IpcEventHandle* handle);
cuda_api::Result OpenEventHandle(const cuda_api::IpcEventHandle& handle, cuda_api::Event* event);

}  // namespace kgpu::simcuda
