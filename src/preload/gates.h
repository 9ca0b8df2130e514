// The container's part of a GPU's time: holds kernels back while its gate is not open.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "src/preload/gate.h"
#include "src/preload/lock.h"
#include "src/preload/own_work.h"
#include "src/preload/slot_names.h"
#include "src/preload/turns.h"

namespace kgpu::preload {

// Where a launch goes. `is_per_thread`: by a function for which no stream is the thread's own.
struct LaunchStream {
  cuda_api::Stream stream;
  bool is_per_thread;
};

// Of one process on one device; all zero at first.
struct GateState {
  Mutex lock;  // guards what follows
  Turns turns;
  OwnWork work;
  uint64_t looked;  // when work was last found to run; Nanoseconds(), 0: it has ended
  uint32_t epoch;   // as last seen
  uint32_t beat;
  uint64_t since;  // when it was first seen; Nanoseconds()
};

// The gates of the container's devices, mapped when its limits are read; a fork keeps them.
struct Gates {
  uint32_t count;  // 0: no slot has a share of the time
  const Gate* gates[kMaxSlots];
  int accounts[kMaxSlots];
  Gate fixed[kMaxSlots];  // the share alone, of all the device's slots
};
Gates& TheGates();

// Adds the gate of an account whose device's share is `percent`, from the file at `path`. Without a
// readable gate, the share itself says when it is open.
void AddGate(int account, uint32_t percent, const char* path);

// Whether a slot of this container has a share of a device's time. Reads the limits.
bool HasGates();
// False: everything may be launched at once. One load for each device with a share.
inline bool IsAnyGateClosed() {
  const Gates& all = TheGates();
  const uint32_t count = __atomic_load_n(&all.count, __ATOMIC_ACQUIRE);
  bool is_closed = false;
  for (uint32_t at = 0; at < count; ++at) {
    is_closed |= !IsFullyOpen(__atomic_load_n(&all.gates[at]->word, __ATOMIC_RELAXED));
  }
  return is_closed;
}
// Waits for the turn of the current context's device; at once if its gate is open or the stream is
// captured, and after kMaxGateWait at the latest. Any thread; keeps errno. Returns what
// NoteLaunched takes; null: the launch does not count.
GateState* WaitForTurn(const LaunchStream& launch);
// The driver has taken the launch, or refused it.
void NoteLaunched(GateState* state, const LaunchStream& launch, bool is_taken);

// Before the program waits for a stream, a context or an event: sees when its launches there end.
// Returns at once if no gate is closed or nothing runs.
void WatchStream(const LaunchStream& stream);
void WatchContext(cuda_api::Context context);
void WatchEvent(cuda_api::Event event);
// A context ends.
void ForgetLaunches(cuda_api::Context context);

// `call()` launches; what is open costs nothing beyond a look.
template <typename Call>
cuda_api::Result LaunchInTurn(const LaunchStream& launch, Call&& call) {
  if (__builtin_expect(static_cast<long>(IsAnyGateClosed()), 0) == 0) {
    return call();
  }
  GateState* state = WaitForTurn(launch);
  const cuda_api::Result result = call();
  if (state != nullptr) {
    NoteLaunched(state, launch, result == cuda_api::kSuccess);
  }
  return result;
}

}  // namespace kgpu::preload
