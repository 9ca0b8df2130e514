// What the GPUs and the CUDA asked for need of a driver, before anybody is asked who has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/setup/driver/choice.h"

namespace kgpu::driver {

struct Needs {
  std::vector<Generation> generations;  // sorted, each once; empty: not known
  unsigned first_branch = 0;            // the least that knows all the GPUs
  unsigned last_branch = 0;             // the last that does; 0: no end
  bool can_open = true;
  bool can_closed = true;
  std::optional<cuda::DriverVersion> least;  // for the CUDA asked for
  std::optional<unsigned> branch;            // asked for
  std::vector<std::string> why;
  std::vector<std::string> notes;

  // "ampere", "volta and ampere", "unknown".
  std::string Names() const;
};

// Errors: as Choose, for all that no source of packages could fix.
StatusOr<Needs> NeedsOf(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
