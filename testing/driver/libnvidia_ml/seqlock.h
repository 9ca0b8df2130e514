// Consistent reads of the shared state.
#pragma once

#include <cstdint>
#include <ctime>

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

inline constexpr uint32_t kSpins = 200;
inline constexpr uint32_t kMaxAttempts = 10000;  // about two seconds: then the server is stuck

// Calls `read` with the state until nobody writes meanwhile, and returns its last result. Before
// that, `read` may see half-written values: it must not trust counts, and only the results of its
// last run count.
template <typename Read>
nvml::Return ReadState(const SimState& state, Read&& read) {
  for (uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    uint64_t before = __atomic_load_n(&state.sequence, __ATOMIC_ACQUIRE);
    if ((before & 1) == 0) {
      nvml::Return result = read(state);
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (__atomic_load_n(&state.sequence, __ATOMIC_RELAXED) == before) {
        return result;
      }
    }
    if (attempt >= kSpins) {
      timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
      (void)nanosleep(&pause, nullptr);
    }
  }
  return nvml::kErrorUnknown;
}

}  // namespace kgpu::sim
