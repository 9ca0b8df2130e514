// Any text is a module that runs within its bounds, or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "testing/cuda/ptx.h"
#include "testing/cuda/ptx_run.h"

namespace {

struct Memory {
  alignas(8) uint8_t bytes[256] = {};
};

void* Resolve(void* memory, uint64_t address, uint32_t size) {
  auto* own = static_cast<Memory*>(memory);
  return address <= sizeof(own->bytes) - size ? own->bytes + address : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = std::make_unique<kgpu::ptx::Module>();
  char error[128] = {};
  if (!kgpu::ptx::Parse(reinterpret_cast<const char*>(data), size, module.get(), error,
                        sizeof(error))) {
    if (error[0] == '\0') {
      abort();  // an error must say what it is
    }
    return 0;
  }
  Memory memory;
  const uint8_t parameters[kgpu::ptx::kMaxParameters * 8] = {};
  for (uint32_t i = 0; i < module->function_count; ++i) {
    (void)kgpu::ptx::Run({.module = module.get(),
                          .function = &module->functions[i],
                          .parameters = parameters,
                          .grid = {2, 1, 1},
                          .block = {3, 1, 1},
                          .resolve = &Resolve,
                          .memory = &memory,
                          .instruction_limit = 1000});
  }
  return 0;
}
