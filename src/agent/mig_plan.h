// What `kgpu mig apply --dry-run --idle-only --output json` says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::agent {

struct MigPlan {
  struct Change {
    std::string gpu{};          // UUID
    bool changes_mode = false;  // MIG is turned on or off, which may reset the GPU
  };
  struct Waiting {
    std::string gpu{};
    std::string reason{};
  };
  bool is_feasible = false;
  std::string reason{};  // why not
  std::vector<Change> changes{};
  std::vector<Waiting> waiting{};
};

// Errors: InvalidArgument naming the field.
StatusOr<MigPlan> ParseMigPlan(std::string_view text);

}  // namespace kgpu::agent
