// The mounted ConfigMaps with configurations of nodes, which lie beside the agent's own file.
#pragma once

#include <string>

#include "src/node/choice/choice.h"

namespace kgpu::choice {

// Limit for all files of one folder together: a ConfigMap holds 1 MiB.
inline constexpr size_t kMaxFolderBytes = size_t{2} << 20;

// kgpu-policy and kgpu-configs with their paths below `folder`, "/etc/kgpu"; no files yet.
choice::Folders ConfigFoldersBelow(const std::string& folder);

// Reads the files of `folder` again. A missing folder has none; names that no ConfigMap can have,
// hidden ones and folders are skipped.
void ReadFolder(choice::Folder& folder);

}  // namespace kgpu::choice
