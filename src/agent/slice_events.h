// The events on pods whose containers use more device memory than their slices allow.
#pragma once

#include "src/kube/api/event_recorder.h"
#include "src/node/share/excess.h"

namespace kgpu::agent {

// What the container uses, what it may, what follows.
kube::Event ExcessEvent(const share::Excess& excess);
// After its processes have been killed.
kube::Event KilledEvent(const share::SliceUse& use, unsigned processes);
// After the eviction of its pod.
kube::Event EvictedEvent(const share::SliceUse& use);

}  // namespace kgpu::agent
