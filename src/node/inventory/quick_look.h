// A look at what the kernel module shows in /proc, without asking the driver: cheap enough for
// every two seconds. Drivers differ in which changes they send events for; the difference of two
// looks says that a full one is due.
#pragma once

#include <string>

#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// The module's version, its GPUs, and the MIG mode and instances of each; when an entry of a
// companions' folder came or went: equal as long as none changed. Source:
// /proc/driver/nvidia/{version,gpus,capabilities}, times of the folders in /dev. Empty without all
// of them.
std::string QuickLook(const sys::Root& host);

}  // namespace kgpu::inventory
