// What `kgpu doctor` asks the driver, through kgpu-probe.
#pragma once

#include <string>
#include <vector>

#include "src/cli/host_options.h"
#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/host/inspect/driver_root.h"

namespace kgpu::cli {

// Fills `heard.driver`; why the driver could not be asked is in `heard.unanswered`. A driver that
// is not loaded is left alone, since NVIDIA's library would load it, and so is one that none of the
// checks `only` is about (empty: all checks). Takes at most 3 s.
void HearDriver(const HostOptions& options, const host::DriverRoot& root,
                const std::vector<std::string>& only, doctor::Heard& heard);

}  // namespace kgpu::cli
