// Runtimes of somebody else, NVIDIA's above all, whose containers kgpu-runtime would serve from
// then on: that is done only where the admin asks for it.
#pragma once

#include <optional>
#include <string>

#include "src/container/engine/engine.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct ForeignRuntime {
  std::string name;     // "nvidia"
  std::string program;  // "/usr/bin/nvidia-container-runtime"
  std::string file;     // the one that counts
  std::string where;    // its place there, for errors

  bool IsOfNvidia() const;
};

// The runtime of somebody else that `request` would replace: the one of the requested name, or with
// set_default one of NVIDIA's that is the default by another name. Errors: InvalidArgument (a file
// that is broken).
StatusOr<std::optional<ForeignRuntime>> FindForeignRuntime(const Engine& engine,
                                                           const EngineFiles& files,
                                                           const Request& request);

// Whether NVIDIA's runtime gives GPUs to unprivileged containers that only set
// NVIDIA_VISIBLE_DEVICES: by its configuration on `host`, true by default. Errors: InvalidArgument
// (the file is broken).
StatusOr<bool> NvidiaAcceptsEnv(const sys::Root& host);

}  // namespace kgpu::engine
