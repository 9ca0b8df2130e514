// Private to the planner: the layouts that a GPU can change to, with what each provides and costs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "src/node/mig/planner.h"

namespace kgpu::mig {

// Up to 16 counts of at most 127, one for each kind.
class Counts {
 public:
  static constexpr size_t kKinds = 16;
  static constexpr unsigned kMost = 127;

  unsigned operator[](size_t kind) const {
    return static_cast<unsigned>((words_[kind / 8] >> (kind % 8 * 8)) & 0xff);
  }
  void Set(size_t kind, unsigned count) {
    const unsigned shift = kind % 8 * 8;
    words_[kind / 8] = (words_[kind / 8] & ~(uint64_t{0xff} << shift)) | uint64_t{count} << shift;
  }
  // What is left of these counts when `other` is taken away; never below zero.
  Counts Without(const Counts& other) const {
    Counts left;
    for (size_t i = 0; i < words_.size(); ++i) {
      constexpr uint64_t kHigh = 0x8080808080808080;
      const uint64_t difference = (words_[i] | kHigh) - other.words_[i];
      const uint64_t is_positive = (difference & kHigh) >> 7;
      left.words_[i] = difference & (is_positive * 0x7f);
    }
    return left;
  }
  bool IsZero() const { return words_[0] == 0 && words_[1] == 0; }
  bool IsAtMost(const Counts& other) const { return Without(other).IsZero(); }
  uint64_t Hash() const {
    return (words_[0] * 0x9e3779b97f4a7c15 ^ words_[1]) * 0xbf58476d1ce4e5b9;
  }
  auto operator<=>(const Counts&) const = default;

 private:
  std::array<uint64_t, 2> words_{};
};

// Compared from the first part on. Costs of several GPUs add up.
struct Cost {
  uint64_t disturbance = 0;  // evicted, destroyed, mode changes, GPUs: 16 bits each
  uint64_t rest = 0;         // room that is lost: 48 bits; instances created: 16 bits
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const {
    return {.disturbance = disturbance + other.disturbance, .rest = rest + other.rest};
  }
  unsigned evicted() const { return static_cast<unsigned>(disturbance >> 48); }
  unsigned destroyed() const { return static_cast<unsigned>((disturbance >> 32) & 0xffff); }
};

// A new instance: an index into the kinds, and its first memory slice.
struct Addition {
  size_t kind = 0;
  unsigned start = 0;
  auto operator<=>(const Addition&) const = default;
};

struct Option {
  Counts provided{};  // idle, movable and new instances by kind, up to the demand
  Cost cost{};
  uint32_t kept = 0;  // a bit for each of GpuState::instances
  std::vector<Addition> added{};
};

// The kinds that the planner counts. A GPU that lacks a kind's profile cannot have it.
using Kinds = std::vector<Kind>;

// All options of a GPU, one for each amount that can be provided, the cheapest of its kind; the
// first one changes nothing. Sorted by cost.
std::vector<Option> OptionsOf(const GpuState& gpu, const Kinds& kinds, const Counts& demand);

}  // namespace kgpu::mig
