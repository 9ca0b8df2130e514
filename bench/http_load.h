// Asks one HTTP server as fast as it answers, over several connections, from one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "bench/measure.h"
#include "src/platform/base/status.h"

namespace kgpu::bench {

struct Load {
  std::string address;  // "127.0.0.1:8080", or the path of a unix socket
  size_t connections = 1;
  std::string request;  // complete, of a request whose connection is kept
  std::chrono::milliseconds time{1'000};
};

struct LoadResult {
  double per_second = 0;
  Samples microseconds;  // of each answer
  size_t errors = 0;     // answers with a code other than 200
};

// Each connection sends its next request when it has its answer. Errors: Unavailable (no server, or
// it closed a connection).
StatusOr<LoadResult> Ask(const Load& load);

}  // namespace kgpu::bench
