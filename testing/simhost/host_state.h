// Converts between a profile, the simulated driver's state and the view for the host's tree.
#pragma once

#include <memory>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"
#include "testing/simhost/host_view.h"
#include "testing/simhost/profile.h"
#include "testing/simhost/settings.h"

namespace kgpu::simhost {

// The state of a host that has just booted: driver loaded (unless the profile has none), every GPU
// idle, MIG instances of the profile created.
// Errors: InvalidArgument (instances that do not fit, with the GPU).
StatusOr<std::unique_ptr<sim::SimState>> InitialState(const Profile& profile,
                                                      const HostSettings& settings);

// One more GPU of `model` for a running host, at a PCI address and minor that `state` does not use.
// Errors: ResourceExhausted (no slot or address is left).
StatusOr<std::unique_ptr<sim::SimGpu>> NewGpu(const GpuModel& model, const HostSettings& settings,
                                              const sim::SimState& state);

// The view of `state` for the host's tree.
HostView ViewOf(const Profile& profile, const HostSettings& settings, const sim::SimState& state);

}  // namespace kgpu::simhost
