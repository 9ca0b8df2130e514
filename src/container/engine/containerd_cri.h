// The settings of containerd's CRI plugin, whichever table holds them.
#pragma once

#include <string>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/layers.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/change.h"

namespace kgpu::engine {

// The CRI plugin's table in a file of this config version. Errors: InvalidArgument (not 1 to 4).
StatusOr<edit::Key> CriTable(int64_t config_version);

struct CriContext {
  edit::Key table;            // CriTable
  ContainerdVersion version;  // 0: unknown
  std::vector<std::string>* notes;
};

Status SetCri(Layers& layers, const CriContext& context, const Settings& settings);

}  // namespace kgpu::engine
