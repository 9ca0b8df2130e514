// Where this host's NVIDIA driver is: its user-space files, its device nodes, and the container
// engine's paths for them.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// The three roots that every feature gets from the command line:
//   host    --host-root    where the host's file system is seen (/proc, /sys, /dev): "/", "/host"
//   driver  --driver-root  where the driver's files are seen: the host's root, or a driver
//                          container's such as /run/nvidia/driver (path given as the host names it)
//   engine  --engine-root  what the container engine calls "/", as this process sees it. Defaults
//                          to --host-root, so that a spec written from inside a container names
//                          host paths. "/" when the "host" is a simulated one in a folder.
struct DriverRoot {
  sys::Root host;
  sys::Root driver;
  std::string engine_root;

  // The path by which the container engine opens `path` of `root`: At(path) without the engine_root
  // prefix.
  std::string EnginePath(const sys::Root& root, std::string_view path) const;
};

// Empty strings mean the defaults above. Errors: NotFound, InvalidArgument (engine_root is no
// prefix of the others).
StatusOr<DriverRoot> OpenDriverRoot(const std::string& host_root, const std::string& driver_root,
                                    const std::string& engine_root);

}  // namespace kgpu::host
