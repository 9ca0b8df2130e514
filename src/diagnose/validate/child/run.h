// All of kgpu-cuda except its command line.
#pragma once

#include <cstdint>

namespace kgpu::validate::child {

inline constexpr int kMaxPreloads = 4;

struct Job {
  const char* library = nullptr;
  // Libraries to load by bare name: found here, whatever folders the loader searches.
  const char* preloads[kMaxPreloads] = {};
  int preload_count = 0;
  const char* ptx = nullptr;  // text, zero-terminated
  uint64_t copy_bytes = 0;    // of each timed copy; 0: none is timed
  uint64_t burn_ms = 0;       // 0: no burn
};

// Runs the job on device 0 of those visible by the environment. Returns the exit code: 0 success, 1
// reported by a `fail` line.
int Run(const Job& job);

}  // namespace kgpu::validate::child
