// The container's part of a GPU's time: holds kernels back while its gate is not open.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "src/preload/gate.h"
#include "src/preload/lock.h"
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
  bool must_settle;  // what was launched while the gate was open is not done yet
  uint32_t epoch;    // as last seen
  uint32_t beat;
  uint64_t since;  // when it was first seen; Milliseconds()
};

// The gates of the container's devices, mapped when its limits are read; a fork keeps them.
struct Gates {
  uint32_t count;  // 0: no slot has a share of the time
  const Gate* gates[kMaxSlots];
  int accounts[kMaxSlots];
  Gate fixed[kMaxSlots];  // for those that cannot be read
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
// Waits for the turn of the current context's device; returns at once if its gate is open, while
// the stream is captured, and after kMaxGateWait at the latest. Any thread; keeps errno.
void WaitForTurn(const LaunchStream& launch);
// Whether the gate is not open, and the stream has something to do.
bool IsBusyBehindGate(const LaunchStream& stream);
// The program has waited for a stream with something to do: its launches have ended.
void NoteSynchronized();

inline void PassGate(const LaunchStream& launch) {
  if (__builtin_expect(static_cast<long>(IsAnyGateClosed()), 0) != 0) {
    WaitForTurn(launch);
  }
}

}  // namespace kgpu::preload
