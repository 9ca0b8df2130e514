// Setters: sent as commands to the state server, which only accepts them from root.
#pragma once

#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

// Checks the call like GpuCall, then sends `VERB UUID ARGUMENTS` (command.h); `arguments` may be
// empty. NVML_ERROR_NO_PERMISSION if the server refuses the caller.
Return ChangeGpu(const char* name, Device device, const char* verb, const char* arguments);

// The server's response to commands that create something: "gi 7 ci 0".
struct Made {
  char text[128];
};
Return ChangeSlot(const char* name, uint32_t slot, const char* verb, const char* arguments,
                  Made* made = nullptr);
// The number after `word` in the response; kUnsupported if there is none.
uint32_t NumberAfter(const Made& made, const char* word);

}  // namespace kgpu::sim
