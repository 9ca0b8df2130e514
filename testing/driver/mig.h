// MIG geometry of the simulated driver, as functions on its state. Instances must not overlap in
// memory slices; media extensions go to one instance per GPU; a compute instance takes compute
// slices of its GPU instance. Ids are those of the hardware's tree of memory slices and are reused;
// UUIDs never are. A function that returns an error has changed nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// The profile by id, by NVML index or by name ("1g.10gb", "MIG 1g.10gb"); null if there is none.
const SimMigProfile* FindMigProfileById(const SimMig& mig, uint32_t id);
const SimMigProfile* FindMigProfileByIndex(const SimMig& mig, uint32_t index);
const SimMigProfile* FindMigProfileByName(const SimMig& mig, std::string_view name);

// First memory slices at which another instance of `profile` fits now, ascending.
std::vector<uint32_t> FreePlacements(const SimMig& mig, const SimMigProfile& profile);

// NVML_COMPUTE_INSTANCE_PROFILE_* for this many slices: 1, 2, 3, 4, 7 → 0, 1, 2, 3, 4.
std::optional<uint32_t> ComputeProfileOfSlices(uint32_t slices);
std::optional<uint32_t> ComputeSlicesOfProfile(uint32_t profile);

// Takes effect at once, or is pending if the model needs a reset. Disabling destroys the instances.
// Errors: Unimplemented (model without MIG), FailedPrecondition (processes on it, and no reset is
// needed).
Status SetMigMode(SimState& state, uint32_t slot, bool is_enabled);
// The reset that the driver tries when a mode is pending. Errors: FailedPrecondition (processes on
// it).
Status ActivateMigMode(SimState& state, uint32_t slot);
// Applies a pending mode, like a GPU reset, with an event if it changes.
void ApplyPendingMigMode(SimState& state, uint32_t slot);

// The id of the new instance. Without `start`, takes the highest free placement, as the driver
// does. Errors: FailedPrecondition (MIG is off), NotFound (no such profile), InvalidArgument (start
// is no placement of the profile), ResourceExhausted (no room).
StatusOr<uint32_t> CreateGpuInstance(SimState& state, uint32_t slot, uint32_t profile_id,
                                     std::optional<uint32_t> start);
// Errors: NotFound, FailedPrecondition (it has compute instances).
Status DestroyGpuInstance(SimState& state, uint32_t slot, uint32_t gi);
// As above; `profile` is NVML_COMPUTE_INSTANCE_PROFILE_*.
StatusOr<uint32_t> CreateComputeInstance(SimState& state, uint32_t slot, uint32_t gi,
                                         uint32_t profile);
// Errors: NotFound, FailedPrecondition (processes run on it).
Status DestroyComputeInstance(SimState& state, uint32_t slot, uint32_t gi, uint32_t ci);

// The usual MIG device: a GPU instance with one compute instance over all of it.
StatusOr<uint32_t> MigCreate(SimState& state, uint32_t slot, std::string_view profile,
                             std::optional<uint32_t> start = std::nullopt);
// Also destroys its compute instances. Without `gi`: every instance of the GPU.
Status MigDestroy(SimState& state, uint32_t slot, std::optional<uint32_t> gi);

}  // namespace kgpu::sim
