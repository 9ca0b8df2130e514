// The changes of GPUs that a claim needs, one after another, and those that end it. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "src/node/dra/checkpoint.h"
#include "src/node/dra/offer.h"
#include "src/node/mig/helper.h"
#include "src/platform/base/status.h"

namespace kgpu::claims {

// Of a GPU, before or after a claim has it.
struct GpuTask {
  mig::Step step = mig::Step::kMake;  // not of layouts
  // Nothing is changed: the device's MPS daemon, which the record asks for, has to work.
  bool awaits_mps = false;
  std::string gpu{};  // UUID
  mig::ClaimPlace place{};
  dra::TimeSlice time_slice = dra::TimeSlice::kDefault;  // of kTimeSlice
  // Of kRemove: the device, whose MPS daemon ends first; empty: it has none.
  std::string without_mps{};
};
using GpuDone = std::function<void(StatusOr<mig::MadeDevice>)>;

// The next change for the claim; nothing: its devices are as they should be. A GPU is set up once
// for each call: `ended` has what was done.
std::optional<GpuTask> NextTask(const dra::PreparedClaim& claim,
                                std::span<const dra::CardOffer> cards,
                                std::set<std::string>& ended);
// Notes in the claim what a kMake has made.
void NoteMade(const GpuTask& task, const mig::MadeDevice& made, dra::PreparedClaim& claim);
// Undoes, at the end of the claim, what was made for it; nothing: no change was. A daemon of MPS
// ends with the record.
std::optional<GpuTask> UndoingOf(const dra::PreparedDevice& device);

}  // namespace kgpu::claims
