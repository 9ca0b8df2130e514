// The whole of kgpu-cuda behind its command line.
#pragma once

#include <cstdint>

namespace kgpu::validate::child {

inline constexpr int kMaxPreloads = 4;

struct Job {
  const char* library = nullptr;
  // What it loads by bare names: found here, whatever the loader's own folders are.
  const char* preloads[kMaxPreloads] = {};
  int preload_count = 0;
  const char* ptx = nullptr;  // text with its ending zero
  uint64_t copy_bytes = 0;    // of each copy that is timed; 0: none is
  uint64_t burn_ms = 0;       // 0: no burning
};

// Runs the job on device 0 of those that the environment shows. Returns the exit code: 0 all is
// well, 1 reported by a `fail` line.
int Run(const Job& job);

}  // namespace kgpu::validate::child
