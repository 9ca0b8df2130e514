// Feeds what a hostile client could send to the state server: frames, and the command lines in
// them. A state that a command has changed must still be valid.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "testing/driver/command.h"
#include "testing/driver/faults.h"
#include "testing/driver/protocol.h"
#include "testing/driver/sample_state.h"
#include "testing/driver/state_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto state = kgpu::sim::SampleState(2);
  for (int frames = 0; frames < 32; ++frames) {
    kgpu::sim::Frame frame;
    size_t used = 0;
    if (kgpu::sim::DecodeFrame(rest, frame, used) != kgpu::sim::Decoded::kFrame) {
      return 0;
    }
    if (frame.type == kgpu::sim::kCommand) {
      (void)kgpu::sim::ApplyCommand(*state, frame.payload);
      if (!kgpu::sim::ValidateState(*state).ok()) {
        std::abort();
      }
    }
    rest.remove_prefix(used);
  }
  return 0;
}
