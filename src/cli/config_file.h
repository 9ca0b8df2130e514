// Files that commands are given by name.
#pragma once

#include <string>

#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct TextFile {
  std::string name;  // as errors call it
  std::string text;
};

// Errors: InvalidArgument (nothing exists at this path). A path that cannot be checked is OK here;
// whoever opens it reports why.
Status CheckNamedPath(const std::string& path);

// "-" is standard input; a pipe will do. Errors: InvalidArgument (no such file); as open(2);
// OutOfRange (more than `limit`).
StatusOr<TextFile> ReadTextFile(const std::string& file, size_t limit = config::kMaxConfigBytes);

// The NodeConfig named, else the one where the agent looks, else the defaults.
StatusOr<config::NodeConfig> ReadNodeConfig(const std::string& file);

}  // namespace kgpu::cli
