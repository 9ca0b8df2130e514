// An engine from the distribution's own packages: the commands, as a plan, and running them.
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
  std::vector<std::vector<std::string>> commands;  // argv each, in order, on the host
  std::string missing{};                           // the package manager, where it is not there
};

// A plan of what the distribution's package manager does, whether that is there or not. Errors:
// Unimplemented (a distribution that we do not know, or that has no such package; the text says
// what to do), NotFound (no os-release). Source: os-release(5).
StatusOr<InstallPlan> PlanInstall(const sys::Root& host, Kind kind);

// Which engine a host without one should get: the first that its distribution has of containerd,
// CRI-O, podman and docker; a node of Kubernetes gets one for pods. Every command that installs or
// suggests an engine asks this. Errors: as PlanInstall.
StatusOr<Kind> EngineToInstall(const sys::Root& host);
// The command that installs it, or words for a person, with "# " in front.
std::string InstallAdvice(const sys::Root& host);

// For people: a command a line.
std::string Print(const InstallPlan& plan);

// Why the plan cannot be carried out on this host, with the fix: FailedPrecondition.
Status CheckInstall(const InstallPlan& plan);
// Runs them one after the other. Errors: as CheckInstall; of the first that fails, with what it
// printed last.
Status Install(const InstallPlan& plan, const sys::Root& host, sys::ProgramRunner& runner);

}  // namespace kgpu::engine
