// The commands of kgpu-sim's server: those of testing/driver/command.h, and those that need the
// host's profile or change more than the driver's state.
//   add-model MODEL         a GPU of a model file joins the host
//   library VERSION         the user space files are of VERSION from now on
//   show                    nothing changes but what host.json says
//   nvlink GPU LINK up      nvlink GPU LINK errors N
//   xid-kernel-log GPU N [GI [CI]] [times K]       xid, but only as lines of the kernel's log
//   xid-driver GPU N [GI [CI]] [times K]           xid, but without a line there
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"
#include "testing/simhost/host_folder.h"
#include "testing/simhost/kernel_log.h"

namespace kgpu::simhost {

// Applies one line to `state`; the response says what was created. Errors: as ApplyCommand; `state`
// is then unchanged.
StatusOr<std::string> ApplyHostCommand(const HostFolder& host, KernelLog& kernel_log,
                                       sim::SimState& state, std::string_view line);

}  // namespace kgpu::simhost
