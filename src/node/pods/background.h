// Work that may wait for a disk or the kernel, off the loop.
#pragma once

#include <functional>

#include "src/platform/base/status.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::pods {

// Runs `job` on another thread, and on the loop the function it returns, or `failed` if it threw.
// False: not accepted now.
using Background = std::function<bool(std::function<std::function<void()>()> job,
                                      std::function<void(const Status&)> failed)>;
// For programs with nothing else to do: runs it immediately.
Background AtOnce();
// Runs work on the disk's thread; `disk` must outlive it.
Background BackgroundOn(sys::DiskWorker& disk);

}  // namespace kgpu::pods
