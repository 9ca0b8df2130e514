// The process that plays the kubelet of a folder.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/topology.h"

namespace kgpu::kubelet {

struct ServeOptions {
  std::string folder;  // absolute; made when it is not there
  double scale = 1;    // of the kubelet's time limits
  TopologyPolicy topology = TopologyPolicy::kNone;
  std::string runtime = "none";  // "none" or "runc"
  std::string rootfs;            // runc: the file system of every container
  std::vector<std::string> cdi_folders;
  std::string host;   // whose var/log/pods gets the folders of the pods; empty: none
  int ready_fd = -1;  // gets one byte once plugins and verbs can connect
};

// Makes the folder a stub kubelet's. A kubelet deletes sockets: it must not get hold of a folder
// that is somebody else's. Errors: FailedPrecondition (it holds other files), as ErrnoStatus.
Status ClaimKubeletFolder(const std::string& folder);

// Runs until SIGTERM or SIGINT. Pods outlive the process in a file; real containers outlive it as
// well. Errors: FailedPrecondition (a folder with other files, a server runs already, runc cannot
// be used), as ErrnoStatus.
Status ServeKubelet(const ServeOptions& options);

}  // namespace kgpu::kubelet
