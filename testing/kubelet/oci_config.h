// The config.json of a container, as a container engine would write it for the kubelet.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

struct OciRequest {
  std::string cgroup;  // "/kubepods/…"
  std::string hostname;
  std::vector<std::string> args;
  std::vector<std::string> env;  // of the pod's spec, "NAME=value"
  ContainerOptions options;      // CDI names are resolved in `cdi_edits`
  std::vector<cdi::ContainerEdits> cdi_edits;
};

// The root file system is the folder "rootfs" beside the file. `host` is the file system that the
// paths of devices and mounts are seen in. Environment: the plugins', then the pod's, then CDI's;
// the last of one name wins. Errors: FailedPrecondition (a device's host path that is no device
// node, or not there).
StatusOr<std::string> OciConfigText(const OciRequest& request, const sys::Root& host);

}  // namespace kgpu::kubelet
