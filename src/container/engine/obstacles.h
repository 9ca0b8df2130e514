// Why a change would keep an engine from starting, or would not last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/daemon_flags.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

// Errors: FailedPrecondition: another program writes the file to edit at each start.
Status CheckLasts(const Engine& engine, const EngineFiles& files);

// The place of the setting that disables containerd's CRI plugin, through which a kubelet uses it;
// nothing if it is enabled. Errors: InvalidArgument (an invalid file).
StatusOr<std::optional<std::string>> FindDisabledCri(const Engine& engine,
                                                     const EngineFiles& files);

// Why containerd does not start with an imported file; nothing if it does. Errors: InvalidArgument
// (an invalid file).
StatusOr<std::optional<std::string>> FindNewerImport(const Engine& engine,
                                                     const EngineFiles& files);

// A flag of dockerd, and the key that must not be in daemon.json beside it.
struct FlagConflict {
  DaemonFlag flag;
  std::string key;
};
// The conflicts of `keys`, top-level keys of daemon.json. Source: moby, daemon/config,
// findConfigurationConflicts.
std::vector<FlagConflict> FindConflicts(const std::vector<DaemonFlag>& flags,
                                        const std::vector<std::string>& keys);

// Errors: FailedPrecondition: a flag of the daemon forbids a change of the plan, or overrides it.
Status CheckFlags(const Engine& engine, const std::vector<DaemonFlag>& flags, const Plan& plan);

}  // namespace kgpu::engine
