// The events about a GPU's health: on the node, and on the pods that use the
// device. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/pods/pod_map.h"

namespace kgpu::agent {

// Whether pods get an event for it at all.
bool IsPodsBusiness(const health::HealthEvent& event);

// The node's own event first, where there is one; its uid is not known here. A fault of a program
// becomes an event of its pod only: the one whose process the driver names, or else, and as no
// warning, all that use the device. A fault that is only seen once more makes no event again.
std::vector<kube::Event> HealthEvents(const health::HealthEvent& event,
                                      const device::Snapshot& snapshot, const pods::PodMap& pods,
                                      const std::string& node);

// Whether two pieces of events say the same of two GPUs, as when a driver hangs: the node gets one
// once for all of them, by the event of the first with `others`.
bool AreAlike(const health::HealthEvent& a, const health::HealthEvent& b);
std::string NoteForNode(const health::HealthEvent& event, size_t others,
                        const device::Snapshot& snapshot);

}  // namespace kgpu::agent
