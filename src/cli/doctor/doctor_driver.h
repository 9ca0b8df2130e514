// Queries the driver for `kgpu doctor`, through kgpu-probe.
#pragma once

#include <string>
#include <vector>

#include "src/cli/base/host_options.h"
#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/host/inspect/driver_root.h"

namespace kgpu::cli {

// Fills `heard.driver`; if the driver could not be queried, `heard.unanswered` says why. Does not
// query a driver that is not loaded, since NVIDIA's library would load it, nor if none of the
// checks in `only` needs it (empty: all checks). Takes at most 3 s.
void HearDriver(const HostOptions& options, const host::DriverRoot& root,
                const std::vector<std::string>& only, doctor::Heard& heard);

}  // namespace kgpu::cli
