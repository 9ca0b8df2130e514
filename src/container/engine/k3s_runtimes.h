// The runtimes that k3s and RKE2 add to containerd's configuration by themselves.
#pragma once

#include <optional>
#include <string>

#include "src/container/engine/engine.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/runtimes.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// The runtime `name` that the distribution adds, beside what its template has: because its program
// is there at the next start, or by the file that it generated at the last one. Nothing if there is
// none, or if the template does not take in the distribution's own tables. Errors: InvalidArgument
// (the template is invalid).
StatusOr<std::optional<ConfiguredRuntime>> FindK3sRuntime(const sys::Root& host,
                                                          const Engine& engine,
                                                          const EngineFiles& files,
                                                          const std::string& name);

// Why a template must not have a runtime of that name, and what to do instead.
Status TwiceError(const Engine& engine, const ConfiguredRuntime& own);

}  // namespace kgpu::engine
