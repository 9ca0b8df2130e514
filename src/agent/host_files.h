// The files that an agent leaves on its host: known here alone, and removed when kgpu goes.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

struct HostFiles {
  std::vector<std::string> removed{};  // paths below the root; in a dry run, what would be
  // What lies in our folders and is not the agent's: a driver's record, say. It stays.
  std::vector<std::string> stays{};
  std::vector<std::string> running{};  // RunningMpsDaemons
};

// MPS daemons that agents have started on the host, each with the command that ends it: they
// outlive agents, and programs may use them. In a container without the host's PIDs none is seen.
std::vector<std::string> RunningMpsDaemons(const sys::Root& host);

// Removes sockets, CDI files, what agents remember, the journal and the usage of the GPUs, and
// folders that are empty then. No agent may run. `kubelet_dir` is the kubelet's folder by this
// process's path; empty: only its usual one on the host. `files` says what was done, even after an
// error. Errors: of the file system, the first; the others are removed nevertheless.
Status RemoveHostFiles(const sys::Root& host, const std::string& kubelet_dir, bool is_dry_run,
                       HostFiles& files);

}  // namespace kgpu::agent
