// Kubernetes events about a GPU's health: on the node, and on pods that use the device. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/pods/pod_map.h"

namespace kgpu::faults {

// Whether pods get an event for it at all.
bool IsPodsBusiness(const health::HealthEvent& event);

// The node's event first, if there is one; its uid is not known here. A program's fault only
// becomes an event of its pod: the pod of the process that the driver names, or else, not as a
// warning, all pods that use the device. A repeated fault makes no new event.
std::vector<kube::Event> HealthEvents(const health::HealthEvent& event,
                                      const device::Snapshot& snapshot, const pods::PodMap& pods,
                                      const std::string& node);

// Whether two events say the same about two GPUs, as when a driver hangs: the node then gets one
// for all of them, made from the first event with `others`.
bool AreAlike(const health::HealthEvent& a, const health::HealthEvent& b);
std::string NoteForNode(const health::HealthEvent& event, size_t others,
                        const device::Snapshot& snapshot);

}  // namespace kgpu::faults
