// Chooses slots of shared GPUs and MIG devices: NVLink does not matter to them, only who shares
// what with whom. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/node/plugin/slot_request.h"

namespace kgpu::plugin {

enum class Spread : uint8_t {
  kApart,     // least used units; slots of a request on different units
  kTogether,  // most used units; slots of a request on one unit
  kFill,      // most used units, even if a request is then spread over several
};

// Where a slot is, in numbers from 0. The unit is what slots compete for: the device whose replicas
// they are, or the card of a MIG device.
struct SlotPlace {
  size_t unit = 0;
  size_t card = 0;
  size_t numa = 0;
};

// The chosen slots, ascending. Slots that are not available count as in use. With kApart, equal
// units take turns; the turn depends only on how many slots are in use, so the same request gets
// the same answer.
std::vector<size_t> SpreadSlots(const std::vector<SlotPlace>& places, const SlotRequest& request,
                                Spread spread);

}  // namespace kgpu::plugin
