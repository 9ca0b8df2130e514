// Only one kgpu at a time changes a host.
#pragma once

#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// The folder of all journals; its lock is the one that programs which change a host share.
inline constexpr std::string_view kStateFolder = "/var/lib/kgpu";

// Makes `folder` and those above it and locks it for as long as the descriptor lives; it must not
// be removed meanwhile. `who` names the holder in the error: "another kgpu runtime". Errors:
// Unavailable, and those of making it. Source: flock(2).
StatusOr<UniqueFd> LockFolder(const sys::Root& host, Disk& disk, std::string_view folder,
                              std::string_view who);

}  // namespace kgpu::change
