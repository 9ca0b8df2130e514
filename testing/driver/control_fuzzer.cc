// Feeds what a hostile client could send to the state server: frames, the command lines in them,
// and requests for memory. A state that a command has changed must still be valid, and no GPU may
// have more memory in use than it has.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "testing/driver/command.h"
#include "testing/driver/faults.h"
#include "testing/driver/memory_ledger.h"
#include "testing/driver/protocol.h"
#include "testing/driver/sample_state.h"
#include "testing/driver/state_file.h"

namespace {

uint64_t Used(const kgpu::sim::SimGpu& gpu) {
  uint64_t used = gpu.memory_used + gpu.memory_reserved;
  for (const kgpu::sim::SimProcess& process : gpu.processes) {
    used += process.used_bytes;
  }
  return used;
}

void TakeMemory(kgpu::sim::SimState& state, kgpu::sim::MemoryLedger& ledger, int client,
                std::string_view payload) {
  kgpu::sim::MemoryRequest request = {};
  if (payload.size() != sizeof(request)) {
    return;
  }
  std::memcpy(&request, payload.data(), sizeof(request));
  int fd = -1;
  const kgpu::sim::MemoryReply reply = ledger.Apply(state, client, 100 + client, request, fd);
  const bool is_more = request.operation == kgpu::sim::kCharge && request.bytes > 0;
  // A command may say that more is used than there is: then nothing more is given.
  if (is_more && reply.result == kgpu::sim::kMemoryDone &&
      Used(state.gpus[request.slot]) > state.gpus[request.slot].memory_total) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto state = kgpu::sim::SampleState(2);
  kgpu::sim::MemoryLedger ledger({});
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
    if (frame.type == kgpu::sim::kMemory) {
      TakeMemory(*state, ledger, frames % 3, frame.payload);
    }
    rest.remove_prefix(used);
  }
  for (const int client : {0, 1, 2}) {
    ledger.Drop(*state, client);
  }
  if (ledger.object_count() != 0) {
    std::abort();
  }
  return 0;
}
