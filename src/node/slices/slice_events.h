// The events on pods whose containers use more device memory than their slices allow.
#pragma once

#include "src/kube/api/event_recorder.h"
#include "src/node/slices/excess.h"

namespace kgpu::slices {

// What the container uses, what it may, what follows.
kube::Event ExcessEvent(const slices::Excess& excess);
// After its processes have been killed.
kube::Event KilledEvent(const slices::SliceUse& use, unsigned processes);
// After the eviction of its pod.
kube::Event EvictedEvent(const slices::SliceUse& use);

}  // namespace kgpu::slices
