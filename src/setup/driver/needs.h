// What the GPUs and the requested CUDA version need from a driver, before looking for a source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/setup/driver/choice.h"

namespace kgpu::driver {

struct Needs {
  std::vector<Generation> generations;  // sorted, without duplicates; empty: unknown
  unsigned first_branch = 0;            // the lowest that supports all the GPUs
  unsigned last_branch = 0;             // the last that does; 0: no end
  bool can_open = true;
  bool can_closed = true;
  std::optional<cuda::DriverVersion> least;  // for the requested CUDA version
  std::optional<unsigned> branch;            // the requested one
  std::vector<std::string> why;
  std::vector<std::string> notes;

  // "ampere", "volta and ampere", "unknown".
  std::string Names() const;
};

// Errors: as Choose, for everything that no package source could fix.
StatusOr<Needs> NeedsOf(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
