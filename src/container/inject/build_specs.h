// From a host to its CDI specifications in one call: used by `kgpu cdi generate`.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/capability.h"
#include "src/container/inject/index.h"
#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/status.h"

namespace kgpu::inject {

inline constexpr std::string_view kOwnKind = "kgpu.dev/gpu";
inline constexpr std::string_view kNvidiaKind = "nvidia.com/gpu";

struct SpecOptions {
  CapabilitySet capabilities = kDefaultCapabilities;
  std::vector<std::string> kinds = {std::string(kOwnKind), std::string(kNvidiaKind)};
};

struct SpecSet {
  std::vector<cdi::Spec> specs;    // one per kind, in order
  InjectionIndex index;            // for the same devices, for WriteIndex
  std::vector<std::string> notes;  // for people: what was left out and why, with the fix
};

// The specs for the devices in `snapshot`, to pass to cdi::Publisher or to print. Without
// GPUs, the specs have no devices (invalid as files; the publisher keeps the old ones for
// a while). Reads files, opens no device. Errors: NotFound (no driver libraries below the
// driver root), FailedPrecondition (kernel module and libraries differ), each with the
// fix.
StatusOr<SpecSet> BuildSpecs(const device::Snapshot& snapshot, const host::DriverRoot& root,
                             const SpecOptions& options = {});

}  // namespace kgpu::inject
