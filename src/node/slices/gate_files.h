// Writes the gates that containers have mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::slices {

struct GateWord {
  std::string slot;   // "GPU-…::3"
  uint64_t word = 0;  // preload::PackTurn
  bool operator==(const GateWord&) const = default;
};

// Writes words into the gates of slots in `folder`, in place. Goes on after a failure, and returns
// the first one. Blocks on the disk. Errors: NotFound (WriteSliceFiles makes them), …
Status WriteGates(const std::string& folder, const std::vector<GateWord>& words);

}  // namespace kgpu::slices
