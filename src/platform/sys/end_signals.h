// Signals that ask this process to end, held back while it has something to clean up first.
#pragma once

#include <csignal>

#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// While one lives, SIGINT, SIGTERM and SIGHUP are blocked in this thread, unless they are ignored:
// they stay pending, and reach us when the last one is destroyed. For a process whose other threads
// block them, as the command line's do. A child process starts without a blocked signal.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  // Becomes readable when one has come; -1: the kernel gives none.
  int fd() const { return fd_.get(); }

 private:
  sigset_t before_ = {};
  UniqueFd fd_;
};

}  // namespace kgpu::sys
