// Only one kgpu at a time changes a host.
#pragma once

#include <string>
#include <string_view>

#include "src/container/engine/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Makes `folder` and those above it and locks it for as long as the descriptor lives; it must not
// be removed meanwhile. `who` is told of one who has it: "another kgpu runtime". Errors:
// Unavailable, and those of making it. Source: flock(2).
StatusOr<UniqueFd> LockFolder(const sys::Root& host, Disk& disk, std::string_view folder,
                              std::string_view who);

}  // namespace kgpu::engine
