#include "src/node/layouts/mig_label.h"

#include "src/node/layouts/mig_goals.h"

namespace kgpu::layouts {

void AddMigState(const std::optional<std::string>& state, const node::SeenNode* seen,
                 std::optional<labels::NodeClaims>& gpus) {
  if (!gpus) {
    return;
  }
  gpus->labels.erase(kMigStateLabel);
  if (!state) {
    return;
  }
  if (!state->empty()) {
    gpus->labels[kMigStateLabel] = *state;
    return;
  }
  if (seen != nullptr && seen->labels.ours.contains(kMigStateLabel)) {
    const auto value = seen->labels.values.find(kMigStateLabel);
    if (value != seen->labels.values.end()) {
      gpus->labels.insert(*value);
    }
  }
}

}  // namespace kgpu::layouts
