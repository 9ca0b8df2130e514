// Keeps devices that are lent away from the kubelet, and as what they were lent.
#pragma once

#include <functional>
#include <string>

#include "src/gpu/device/ids.h"
#include "src/node/loans/ledger.h"
#include "src/node/pools/assignment.h"

namespace kgpu::loans {

// Moves slots of the kubelet's resources to the unassigned devices if `reason` has a text for their
// card: a pool may have become the kubelet's while a device of it is lent. Local pools stay.
void Withhold(const std::function<std::string(const device::GpuUuid&)>& reason,
              pools::Assignment& assignment);

// Moves slots of local pools to the unassigned devices while their GPU is lent as something else:
// whole, or in other slices. It becomes what the configuration says once these loans have ended.
void KeepAsLent(const Ledger& ledger, pools::Assignment& assignment);

}  // namespace kgpu::loans
