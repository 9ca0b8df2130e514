// Which slots of shared GPUs and MIG devices to give: NVLink is of no use to them, what counts is
// who shares what with whom. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/node/plugin/slot_request.h"

namespace kgpu::plugin {

enum class Spread : uint8_t {
  kApart,     // where the fewest slots are in use; several slots of a request on different units
  kTogether,  // where the most slots are in use; several slots of a request on one unit
  kFill,      // where the most slots are in use, even when a request comes to lie on several units
};

// Where a slot lies, in numbers from 0 on. The unit is what slots compete for: the device whose
// replicas they are, or the card of a MIG device.
struct SlotPlace {
  size_t unit = 0;
  size_t card = 0;
  size_t numa = 0;
};

// Slots of the answer, ascending. A slot that is not available counts as in use. With kApart equal
// units take turns; whose turn it is follows from how many slots are in use, so that the same
// request gets the same answer.
std::vector<size_t> SpreadSlots(const std::vector<SlotPlace>& places, const SlotRequest& request,
                                Spread spread);

}  // namespace kgpu::plugin
