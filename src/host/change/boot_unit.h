// The systemd unit that goes on with a change at the next boot.
#pragma once

#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// The link by which the boot starts the unit `name`, "kgpu-node-up.service".
std::string BootUnitLink(std::string_view name);

// Writes the unit and its link, and makes the folders above them. systemd reads both at the next
// boot: it need not be reported. Errors: those of Disk.
Status PutBootUnit(const sys::Root& host, Disk& disk, std::string_view name, std::string_view text);

// One that is not there is no error.
Status RemoveBootUnit(Disk& disk, std::string_view name);

}  // namespace kgpu::change
