// Files that commands get by name.
#pragma once

#include <string>

#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct TextFile {
  std::string name;  // as used in errors
  std::string text;
};

// Errors: InvalidArgument (nothing exists at this path). A path that cannot be checked is OK here;
// opening it will report why.
Status CheckNamedPath(const std::string& path);

// "-" is standard input; pipes are accepted. Errors: InvalidArgument (no such file); as open(2);
// OutOfRange (more than `limit`).
StatusOr<TextFile> ReadTextFile(const std::string& file, size_t limit = config::kMaxConfigBytes);

// The named NodeConfig, else the one at the agent's path, else the defaults.
StatusOr<config::NodeConfig> ReadNodeConfig(const std::string& file);

}  // namespace kgpu::cli
