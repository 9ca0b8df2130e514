// Kernel headers for a container that has none: links to where the host's files are
// mounted.
#pragma once

#include <string>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::driver_install {

// Whether LinkHeaders would return true. Changes nothing.
bool CanLinkHeaders(const sys::Root& host, const sys::Root& container, const std::string& kernel);

// Whether `container`, whose files `disk` changes, now has the headers of `kernel` through links to
// those of `host`. False if the host has none, or the container has its own. Created once; existing
// files stay.
StatusOr<bool> LinkHeaders(const sys::Root& host, const sys::Root& container, change::Disk& disk,
                           const std::string& kernel);

}  // namespace kgpu::driver_install
