// The text commands that change the simulated driver, one line each; `kgpu-sim` and the simulated
// libraries send them to the state server. GPU is an NVML index, a UUID or a PCI address; "all"
// where it says so.
//   xid GPU N [GI [CI]] [times K]        lose GPU                     heal GPU|all
//   ecc GPU corrected|uncorrected N [LOCATION]     LOCATION: a number, "dram", "sram", "l2", …
//   hang GPU|all [FUNCTION]              slow GPU|all MILLISECONDS [FUNCTION]
//   refuse GPU|all CODE [FUNCTION]       CODE: nvmlReturn_t
//   unload                               load [VERSION [CUDA]]        CUDA: "12.2"
//   add [GPU] (like GPU, or the first)   remove GPU
//   mig-mode GPU on|off                  mig-create GPU PROFILE [START]   mig-destroy GPU [GI]
//   mig-activate GPU (a pending mode, as a reset does)
//   gi-create GPU PROFILE_ID [START]     gi-destroy GPU GI
//   ci-create GPU GI CI_PROFILE          ci-destroy GPU GI CI
//   process GPU PID MIB [compute|graphics|mps [NAME [SM% [GI [CI]]]]] process-end GPU PID
//   process-util GPU PID SM% [MEMORY% [ENCODER% [DECODER%]]]
//   util GPU PERCENT [MEMORY_PERCENT]    temp GPU CELSIUS             throttle GPU REASON|BITS|off
//   nvlink GPU LINK                      set GPU FIELD VALUE
// Only the server answers `clients` (a line "PID UID" for each connection) and `reload` (takes the
// state from its file again).
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

inline constexpr size_t kMaxCommand = 1024;

// Applies one line to `state`; returns "", or what was created ("gi 7 ci 0", "gpu 3"). Errors:
// InvalidArgument (names the word and the fix; the state is unchanged), those of faults.h.
StatusOr<std::string> ApplyCommand(SimState& state, std::string_view line);

}  // namespace kgpu::sim
