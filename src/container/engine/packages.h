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
  std::string missing{};                           // the package manager, if it is not installed
};

// A plan for the distribution's package manager, whether that is installed or not. Errors:
// Unimplemented (a distribution that we do not know, or that has no such package; the text says
// what to do), NotFound (no os-release). Source: os-release(5).
StatusOr<InstallPlan> PlanInstall(const sys::Root& host, Kind kind);

// Which engine a host without one should get: the first of containerd, CRI-O, podman and docker
// that its distribution has; on a Kubernetes node one that runs pods. Every command that installs
// or suggests an engine calls this. Errors: as PlanInstall.
StatusOr<Kind> EngineToInstall(const sys::Root& host);
// The command that installs it, or words for a person, with "# " in front.
std::string InstallAdvice(const sys::Root& host);

// For people: one command per line.
std::string Print(const InstallPlan& plan);

// Why the plan cannot be executed on this host, with the fix: FailedPrecondition.
Status CheckInstall(const InstallPlan& plan);
// Runs them in order. Errors: as CheckInstall; that of the first that fails, with the end of its
// output.
Status Install(const InstallPlan& plan, const sys::Root& host, sys::ProgramRunner& runner);

}  // namespace kgpu::engine
