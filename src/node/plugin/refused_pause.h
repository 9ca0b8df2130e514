// How often to connect to a socket on which nobody listens yet. No event reports a listen(2).
#pragma once

#include <algorithm>
#include <chrono>

namespace kgpu::plugin {

// The pause after a refused connect, `since` the first one: a tenth of that time. A kubelet binds
// an instant before it listens and is met at once; the socket that a dead one left behind costs
// fewer and fewer attempts. A new socket file is seen by a watch, whatever the pause.
inline std::chrono::nanoseconds RefusedPause(std::chrono::nanoseconds since) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(500);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds(1);
  return std::clamp(since / 10, kShortest, kLongest);
}

}  // namespace kgpu::plugin
