// Installs an engine from the distribution's own packages: plans the commands, and runs them.
#pragma once

#include <string>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

struct InstallPlan {
  Kind kind = Kind::kDocker;
  std::string distribution;                        // as it calls itself: "Debian GNU/Linux 12"
  std::vector<std::vector<std::string>> commands;  // one argv each, in order, on the host
};

// Errors: Unimplemented (a distribution that we do not know, or that has no such package; the text
// says what to do), NotFound (no os-release, or its package manager is missing). Source:
// os-release(5).
StatusOr<InstallPlan> PlanInstall(const sys::Root& host, Kind kind);

// For people: one command per line.
std::string Print(const InstallPlan& plan);

// Runs them in order. Errors: that of the first that fails, with the end of its output.
Status Install(const InstallPlan& plan, const sys::Root& host, sys::ProgramRunner& runner);

}  // namespace kgpu::engine
