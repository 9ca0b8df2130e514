// Signals as a descriptor: no work is done in a handler.
#pragma once

#include <csignal>
#include <initializer_list>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::cli {

// Blocks `signals` for this thread and those it starts later, and gives the descriptor that tells
// of them. Call it before the first thread. Source: signalfd(2). Errors: ResourceExhausted.
StatusOr<UniqueFd> TakeSignals(std::initializer_list<int> signals);

// Gives this thread back, at its end, the signal mask that it had: for a part of a command that
// takes signals while what follows must end by them.
class RestoredSignalMask {
 public:
  RestoredSignalMask();
  ~RestoredSignalMask();
  RestoredSignalMask(const RestoredSignalMask&) = delete;
  RestoredSignalMask& operator=(const RestoredSignalMask&) = delete;

 private:
  sigset_t before_{};
};

// The number of the next signal, 0 when none waits.
int NextSignal(int fd);

}  // namespace kgpu::cli
