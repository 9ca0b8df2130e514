// One MIG device at a place of its own, beside the others of its GPU: what a claim gets.
#pragma once

#include <functional>
#include <string>

#include "src/node/mig/apply.h"
#include "src/node/mig/helper.h"
#include "src/node/mig/host.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::mig {

// The GPU with an instance of the place and one compute instance for all of it. One that is there
// is enough; what is left of one that was half made goes. Turns MIG on. Errors: NotFound (the GPU
// has no such profile), FailedPrecondition (other instances are in the way).
StatusOr<Target> WithPlace(const HostGpu& gpu, const ClaimPlace& place);
// The GPU without it.
StatusOr<Target> WithoutPlace(const HostGpu& gpu, const ClaimPlace& place);
// The GPU with MIG off. Errors: FailedPrecondition (it has instances).
StatusOr<Target> WithoutMig(const HostGpu& gpu);

// The MIG device of the place. Errors: NotFound.
StatusOr<MadeDevice> DeviceAt(const HostGpu& gpu, const ClaimPlace& place);

// Brings the GPU with this UUID to what `target_of` says of it, under the lock of all programs that
// change this host. Not for `kgpu mig rollback`: who makes the device removes it. Returns the GPU
// as it is then. Errors: Unavailable (another program changes this host), those of `target_of` and
// of Applier.
StatusOr<HostGpu> ChangeGpu(const sys::Root& host, const std::string& gpu,
                            const std::function<StatusOr<Target>(const HostGpu&)>& target_of,
                            ApplyDeps deps);

}  // namespace kgpu::mig
