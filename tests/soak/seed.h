// The seed of a soak run, and the actions since its start: what is needed to run it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace kgpu::soak {

// The variable of the environment as a number, or `otherwise`.
uint64_t NumberOf(const char* variable, uint64_t otherwise);
// KGPU_SOAK_SEED, or `otherwise`; "random" takes a new one each time.
uint32_t SeedOf(uint32_t otherwise);

// The same seed makes the same choices on every machine: only mt19937 itself is used, since the
// distributions of the standard library are not fixed.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}

  uint32_t Below(uint32_t limit) { return engine_() % limit; }
  bool OneIn(uint32_t count) { return Below(count) == 0; }
  template <typename T>
  const T& Of(const std::vector<T>& choices) {
    return choices[Below(static_cast<uint32_t>(choices.size()))];
  }

 private:
  std::mt19937 engine_;
};

struct Action {
  std::string verb;
  std::vector<std::string> arguments{};
  std::string text() const;
};

// The actions so far. Only the last ones are kept: a run may take weeks of simulated time, and its
// seed has the rest.
class Story {
 public:
  static constexpr size_t kKept = 400;

  Story(std::string program, uint32_t seed) : program_(std::move(program)), seed_(seed) {}

  void Add(std::string action);
  size_t steps() const { return steps_; }
  uint32_t seed() const { return seed_; }
  // Seed, step, how to replay, and the actions that led to it.
  std::string Failure(const std::string& problem) const;

 private:
  const std::string program_;
  const uint32_t seed_;
  size_t steps_ = 0;
  std::deque<std::string> actions_;
};

}  // namespace kgpu::soak
