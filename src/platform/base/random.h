// Random numbers for jitter, not for secrets. A dependency like the clock: tests give a seed.
#pragma once

#include <sys/random.h>

#include <chrono>
#include <cstdint>

namespace kgpu {

// Not shared between threads. Source: the generator SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // A seed that no other process shares, for production.
  static uint64_t SeedFromKernel() {
    uint64_t seed = 0;
    // Cannot fail for so few bytes after the kernel has booted.
    [[maybe_unused]] const ssize_t count = getrandom(&seed, sizeof(seed), 0);
    return seed;
  }

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In the range [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // A random part of `whole`, uniformly distributed.
  std::chrono::nanoseconds PartOf(std::chrono::nanoseconds whole) {
    return std::chrono::nanoseconds(
        static_cast<int64_t>(Uniform() * static_cast<double>(whole.count())));
  }

 private:
  uint64_t state_;
};

}  // namespace kgpu
