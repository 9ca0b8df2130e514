// Reads what the kernel module shows in /proc, without calling the driver: cheap enough to do every
// two seconds. Drivers send events for different changes; two different results here mean that a
// full read is due.
#pragma once

#include <string>

#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// The module's version, its GPUs, the MIG mode and instances of each, and the times of the
// companions' folders: equal as long as nothing has changed. Source:
// /proc/driver/nvidia/{version,gpus,capabilities}, times of the folders in /dev. Empty without all
// of them.
std::string QuickLook(const sys::Root& host);

}  // namespace kgpu::inventory
