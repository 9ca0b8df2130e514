// Which container engines a host has, where their files are and what their versions read.
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
  std::string distribution{};  // empty: of whoever brings it
  // The file to edit instead of the one found; of the daemon that was started with it, where there
  // is one. Wants `only`.
  std::string config_file{};
  std::chrono::milliseconds deadline{10'000};  // for a program to tell its version
};

// Every engine that is installed or runs, in the order of kAllKinds, the distribution's own package
// before those of k3s, RKE2 and k0s; is_spare is judged among those that are asked for. Programs
// are run with --version only, below the host's root. What cannot be found out is in Engine::note,
// never an error.
std::vector<Engine> FindEngines(const sys::Root& host, sys::ProgramRunner& runner,
                                const FindOptions& options);

// Whether this host is a node of Kubernetes: its kubelet runs, or is configured.
bool HasKubelet(const sys::Root& host);

}  // namespace kgpu::engine
