// The agent's memory as somebody else may have left it: never a crash, and never a device that is
// healthy without being said to be.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/memory.h"
#include "src/node/choice/saved_choice.h"
#include "src/node/faults/saved_faults.h"
#include "src/node/pools/saved_slots.h"

namespace {

struct Parts {
  kgpu::pools::ChangeGuard::Shapes shapes;
  std::vector<kgpu::pools::Resource> held;
  kgpu::faults::SavedFaults faults;
};

Parts ReadParts(const boost::json::object& object) {
  const kgpu::doc::SavedFields fields(object);
  return {.shapes = kgpu::pools::ReadShapes(fields, "shapes"),
          .held = kgpu::pools::ReadResources(fields, "held"),
          .faults = kgpu::faults::ReadFaults(object)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kgpu::agent::MemoryKey key{.boot_id = "b", .config = "c"};
  if (const auto state = kgpu::agent::ParseMemory(text, key); state.ok()) {
    // A value that was read is the same after it is written and read again.
    const Parts parts = ReadParts(state->fields);
    boost::json::object fields{{"shapes", kgpu::pools::ShapesJson(parts.shapes)},
                               {"held", kgpu::pools::ResourcesJson(parts.held)}};
    kgpu::faults::SaveFaults(
        {.open = parts.faults.open, .kernel_log_position = parts.faults.kernel_log_position},
        fields);
    const auto second = kgpu::agent::ParseMemory(
        kgpu::agent::PrintMemory(key, state->assignment, std::move(fields)), key);
    if (!second.ok() || second->assignment != state->assignment) {
      __builtin_trap();
    }
    const Parts again = ReadParts(second->fields);
    if (again.shapes != parts.shapes || again.held != parts.held ||
        again.faults.open != parts.faults.open ||
        again.faults.kernel_log_position != parts.faults.kernel_log_position) {
      __builtin_trap();
    }
  }
  if (const auto saved = kgpu::choice::ParseSavedChoice(text); saved.ok()) {
    const std::string again = kgpu::choice::PrintSavedChoice(*saved);
    const auto second = kgpu::choice::ParseSavedChoice(again);
    if (!second.ok() || second->config != saved->config || second->labels != saved->labels ||
        second->running != saved->running) {
      __builtin_trap();
    }
  }
  return 0;
}
