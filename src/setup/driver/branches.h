// The branches of NVIDIA's Linux driver: what each supports, and for how long.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/gpu/cuda/version.h"

namespace kgpu::driver {

enum class Life : uint8_t {
  kEnded,       // gets no fixes any more
  kNewFeature,  // the next one replaces it within months
  kProduction,  // about a year of fixes
  kLongTerm,    // three years of fixes
};
std::string_view ToString(Life life);  // "ended", "new feature", "production", "long-term support"

struct Branch {
  unsigned number = 0;
  std::string_view newest;  // the newest version this table knows
  Life life = Life::kEnded;
  std::string_view end;          // "2028-06": fixes until then; empty: not announced
  bool has_open = false;         // the open kernel modules, suitable for computing
  bool is_open_default = false;  // its installer uses them by default
  bool has_closed = true;        // the proprietary ones
};

// Oldest first.
std::span<const Branch> Branches();
const Branch* FindBranch(unsigned number);

// Whether the newest known version of `branch` is at least `least`.
bool Reaches(const Branch& branch, const cuda::DriverVersion& least);

}  // namespace kgpu::driver
