// The agent's memory as somebody else may have left it: never a crash, and never a device that is
// healthy without being said to be.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/agent/memory.h"
#include "src/agent/saved_choice.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kgpu::agent::MemoryKey key{.boot_id = "b", .config = "c"};
  const auto remembered = kgpu::agent::ParseMemory(text, key);
  if (remembered.ok()) {
    // A value that was read is the same after it is written and read again.
    kgpu::health::Overview health;
    health.kernel_log_position = remembered->kernel_log_position;
    const std::string again = kgpu::agent::PrintMemory(key, remembered->assignment, health,
                                                       remembered->shapes, remembered->held);
    const auto second = kgpu::agent::ParseMemory(again, key);
    if (!second.ok() || second->assignment != remembered->assignment ||
        second->held != remembered->held ||
        second->kernel_log_position != remembered->kernel_log_position) {
      __builtin_trap();
    }
  }
  if (const auto saved = kgpu::agent::ParseSavedChoice(text); saved.ok()) {
    const std::string again = kgpu::agent::PrintSavedChoice(*saved);
    const auto second = kgpu::agent::ParseSavedChoice(again);
    if (!second.ok() || second->config != saved->config || second->labels != saved->labels ||
        second->running != saved->running) {
      __builtin_trap();
    }
  }
  return 0;
}
