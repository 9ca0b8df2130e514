// Makes sure that only one kgpu at a time changes a host.
#pragma once

#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// The folder of all journals; every program that changes a host takes its lock.
inline constexpr std::string_view kStateFolder = "/var/lib/kgpu";

// Creates `folder` and those above it, and holds a lock on it until the descriptor is closed; the
// folder must not be removed meanwhile. `who` names the holder in errors: "another kgpu runtime".
// Errors: Unavailable, and those of creating it. Source: flock(2).
StatusOr<UniqueFd> LockFolder(const sys::Root& host, Disk& disk, std::string_view folder,
                              std::string_view who);

}  // namespace kgpu::change
