// Signals through a descriptor: no work is done in a handler.
#pragma once

#include <csignal>
#include <initializer_list>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// Blocks `signals` for this thread and those it starts later: one that comes stays pending.
// Errors: InvalidArgument.
Status BlockSignals(std::initializer_list<int> signals);

// Blocks `signals` as above, and returns their descriptor, which also gives those that are pending.
// Call it before creating the first thread. Source: signalfd(2). Errors: ResourceExhausted.
StatusOr<UniqueFd> TakeSignals(std::initializer_list<int> signals);

// Restores this thread's signal mask at its end: for a part of a command that takes signals, when
// signals must end the process afterwards.
class RestoredSignalMask {
 public:
  RestoredSignalMask();
  ~RestoredSignalMask();
  RestoredSignalMask(const RestoredSignalMask&) = delete;
  RestoredSignalMask& operator=(const RestoredSignalMask&) = delete;

 private:
  sigset_t before_{};
};

// The number of the next signal; 0 if none is pending.
int NextSignal(int fd);

}  // namespace kgpu::sys
