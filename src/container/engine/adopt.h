// Runtimes of others, mostly NVIDIA's, whose containers kgpu-runtime would take over: only done if
// the admin asks for it.
#pragma once

#include <optional>

#include "src/container/engine/plan.h"
#include "src/container/engine/runtimes.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// The other runtime that `request` would replace: the one with the requested name or, with
// set_default, one of NVIDIA's that is the default under another name.
std::optional<ConfiguredRuntime> FindForeignRuntime(const RuntimeTables& tables,
                                                    const Request& request);

// Whether NVIDIA's runtime gives GPUs to unprivileged containers that only set
// NVIDIA_VISIBLE_DEVICES, by its configuration on `host`; true by default. Errors: InvalidArgument
// (an invalid file).
StatusOr<bool> NvidiaAcceptsEnv(const sys::Root& host);

}  // namespace kgpu::engine
