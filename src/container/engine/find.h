// Finds a host's container engines, their files and what their versions support.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

struct FindOptions {
  std::optional<Kind> only;    // empty: every engine
  std::string distribution{};  // empty: whoever ships it
  // The file to edit instead of the one found; for the daemon that was started with it, if there is
  // one. Requires `only`.
  std::string config_file{};
  std::chrono::milliseconds deadline{10'000};  // for a program to print its version
};

// Every engine that is installed or running, in the order of kAllKinds, the distribution's own
// package before those of k3s, RKE2 and k0s; is_spare is judged among those requested. Runs
// programs only with --version, below the host's root. What cannot be found out is in Engine::note,
// never an error.
std::vector<Engine> FindEngines(const sys::Root& host, sys::ProgramRunner& runner,
                                const FindOptions& options);

// Whether this host is a node of Kubernetes: its kubelet runs, or is configured.
bool HasKubelet(const sys::Root& host);

}  // namespace kgpu::engine
