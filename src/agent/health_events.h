// What people are told of a GPU's health by events: on the node, and on the pods that use the
// device. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/happening.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/pods/pod_map.h"

namespace kgpu::agent {

// Whether pods are told of it at all.
bool IsPodsBusiness(const health::Happening& news);

// The node's own event first, where there is one; its uid is not known here. A fault of a program
// is told to its pod only: the one whose process the driver names, or else, and as no warning, all
// that use the device. A fault that is only seen once more is told to nobody again.
std::vector<kube::Event> HealthEvents(const health::Happening& news,
                                      const device::Snapshot& snapshot, const pods::PodMap& pods,
                                      const std::string& node);

// Whether two pieces of news say the same of two GPUs, as when a driver hangs: the node is told
// once for all of them, by the event of the first with `others`.
bool AreAlike(const health::Happening& a, const health::Happening& b);
std::string NoteForNode(const health::Happening& news, size_t others,
                        const device::Snapshot& snapshot);

}  // namespace kgpu::agent
