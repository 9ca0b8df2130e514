// The process that acts as the kubelet of a folder.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/topology.h"

namespace kgpu::kubelet {

struct ServeOptions {
  std::string folder;  // absolute; created if it does not exist
  double scale = 1;    // of the kubelet's time limits
  TopologyPolicy topology = TopologyPolicy::kNone;
  std::string runtime = "none";  // "none" or "runc"
  std::string rootfs;            // runc: the file system of every container
  std::vector<std::string> cdi_folders;
  std::string host;   // the host whose var/log/pods gets the pods' folders; empty: none
  int ready_fd = -1;  // gets one byte once plugins and commands can connect
};

// Marks the folder as a stub kubelet's. A kubelet deletes sockets: it must not use somebody else's
// folder. Errors: FailedPrecondition (it contains other files), as ErrnoStatus.
Status ClaimKubeletFolder(const std::string& folder);

// Runs until SIGTERM or SIGINT. Pods survive the process in a file; real containers keep running.
// Errors: FailedPrecondition (a folder with other files, a server runs already, runc is unusable),
// as ErrnoStatus.
Status ServeKubelet(const ServeOptions& options);

}  // namespace kgpu::kubelet
