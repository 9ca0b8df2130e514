// The agent's name for the worker of platform/sys.
#pragma once

#include "src/platform/sys/disk_worker.h"

namespace kgpu::agent {

using sys::DiskWorker;
using sys::DiskWorkerOptions;

}  // namespace kgpu::agent
