// The CDI spec of a prepared claim: pure functions.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/plan.h"
#include "src/node/dra/checkpoint.h"
#include "src/node/dra/offer.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/kind.h"
#include "src/platform/base/status.h"

namespace kgpu::claims {

// The devices of this node, and the files that containers get with them.
struct SpecFacts {
  std::span<const dra::CardOffer> cards;
  const std::vector<pools::Resource>& resources;
  std::shared_ptr<const inject::InjectionPlan> plan;  // not null
  sharing::Places places;
};

// One CDI device for each device of the claim. Each has the limits of all of the claim's slots,
// since a container may have several of its devices, and there is one variable or file for all. An
// unhealthy device is no error: the scheduler goes by its taint, and a claim may tolerate it.
// Errors: NotFound (the device is gone), Unavailable (it has no node), InvalidArgument (several
// slots, where the pool allows one).
StatusOr<cdi::Spec> SpecOf(const dra::PreparedClaim& claim, const SpecFacts& facts);

// "kgpu-claim-<UID>.json".
std::string SpecFileOf(std::string_view uid);
// The UID in such a name; empty: it is another file.
std::string_view UidOfSpecFile(std::string_view file);

}  // namespace kgpu::claims
