// Streams, and events as another process gets them.
#pragma once

#include "testing/cuda/library.h"

namespace kgpu::simcuda {

// The context that the stream was made in; of one that nobody creates, `current`.
ContextObject* ContextOfStream(cuda_api::Stream stream, ContextObject* current);

// False: the event was not made for other processes.
bool WriteEventHandle(cuda_api::Event event, cuda_api::IpcEventHandle* handle);
cuda_api::Result OpenEventHandle(const cuda_api::IpcEventHandle& handle, cuda_api::Event* event);

}  // namespace kgpu::simcuda
