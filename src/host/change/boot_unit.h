// The systemd unit that continues a change at the next boot.
#pragma once

#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// The link that makes the boot start the unit `name`, "kgpu-node-up.service".
std::string BootUnitLink(std::string_view name);

// Writes the unit and its link, and creates the folders above them. systemd reads both at the next
// boot, so it needs no reload. Errors: those of Disk.
Status PutBootUnit(const sys::Root& host, Disk& disk, std::string_view name, std::string_view text);

// Not an error if there is no such unit.
Status RemoveBootUnit(Disk& disk, std::string_view name);

}  // namespace kgpu::change
