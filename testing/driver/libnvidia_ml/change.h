// Setters: they travel to the state server as commands, which it accepts from root only.
#pragma once

#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

// Checks the call like GpuCall, then sends `VERB UUID ARGUMENTS` (command.h) where `arguments` may
// be empty. NVML_ERROR_NO_PERMISSION where the server refuses the caller.
Return ChangeGpu(const char* name, Device device, const char* verb, const char* arguments);

// What the server answered, for commands that make something: "gi 7 ci 0".
struct Made {
  char text[128];
};
Return ChangeSlot(const char* name, uint32_t slot, const char* verb, const char* arguments,
                  Made* made = nullptr);
// The number after `word` in the answer; kUnsupported where it lacks.
uint32_t NumberAfter(const Made& made, const char* word);

}  // namespace kgpu::sim
