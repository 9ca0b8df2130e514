// Whether systemd runs a host, and its systemctl as a command line: the caller decides how long it
// may take and what counts as failure.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::sys {

// Whether systemd runs this host. Source: sd_booted(3).
bool HasSystemd(const Root& host);

// {"/usr/bin/systemctl", "restart", …} for `words`. Errors: FailedPrecondition (the host has none).
StatusOr<std::vector<std::string>> SystemctlCommand(const Root& host,
                                                    std::vector<std::string> words);

}  // namespace kgpu::sys
