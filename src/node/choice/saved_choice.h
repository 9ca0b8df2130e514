// Which configuration the agent ran last, saved for its next start in the same boot: the API server
// may be away then, and what a ConfigMap says may be wrong by then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/node/choice/choice.h"
#include "src/node/choice/report.h"
#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::choice {

struct SavedChoice {
  std::optional<choice::Labels> labels{};  // of the node; nothing: they were not known
  choice::Report running{};                // only what runs
  config::NodeConfig config{};
};

std::string PrintSavedChoice(const SavedChoice& saved);
// Errors: InvalidArgument (not such a text).
StatusOr<SavedChoice> ParseSavedChoice(std::string_view text);

}  // namespace kgpu::choice
