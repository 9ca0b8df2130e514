#include <cstddef>
#include <cstdint>
#include <string>

#include "src/container/engine/unit_command.h"

// Before the first zero a unit, then a drop-in, then its environment file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string parts[3];
  size_t part = 0;
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == 0 && part < 2) {
      ++part;
    } else {
      parts[part] += static_cast<char>(data[i]);
    }
  }
  const auto arguments = kgpu::engine::ParseUnitCommand(
      {{"unit", parts[0]}, {"drop-in", parts[1]}}, [&](const std::string&) { return parts[2]; });
  for (const kgpu::engine::UnitArgument& argument : arguments) {
    if (argument.where.empty()) {
      __builtin_trap();
    }
  }
  return 0;
}
