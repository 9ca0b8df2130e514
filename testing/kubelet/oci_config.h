// A container's config.json, as a container engine would write it for the kubelet.
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

// The root file system is the folder "rootfs" beside the file. `host` is the file system with the
// paths of devices and mounts. Environment: the plugins', then the pod's, then CDI's; the last
// value of a name wins. Errors: FailedPrecondition (a device's host path does not exist or is no
// device node).
StatusOr<std::string> OciConfigText(const OciRequest& request, const sys::Root& host);

}  // namespace kgpu::kubelet
