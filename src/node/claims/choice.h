// Chooses the devices and slots of a claim from its allocation: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/node/dra/allocation.h"
#include "src/node/dra/checkpoint.h"
#include "src/node/dra/offer.h"
#include "src/platform/base/status.h"

namespace kgpu::claims {

// "kgpu.dev/claim=<UID>-gpu-0": the CDI device of a claim's device. With the UID, so that no
// runtime finds the definition of an earlier claim. `number` counts from 1 for several shares of
// one device.
inline constexpr std::string_view kClaimKind = "kgpu.dev/claim";
std::string CdiNameOf(std::string_view uid, std::string_view device, unsigned number);

// The devices of `allocation`, with free slots of those that claims share. `taken` are the claims
// that are prepared; one with the same UID does not count. `pool` is this node's. Errors: NotFound
// (not a device of this node), FailedPrecondition (another claim has it), ResourceExhausted (no
// slots are free), InvalidArgument (parameters that the device's pool cannot follow).
StatusOr<dra::PreparedClaim> ChooseDevices(const dra::Allocation& allocation,
                                           std::span<const dra::CardOffer> cards,
                                           const dra::Checkpoint& taken, std::string_view pool);

}  // namespace kgpu::claims
