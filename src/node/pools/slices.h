// How a device is cut into slots: replicas that take turns, or slices of its memory. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/share.h"
#include "src/node/pools/claims.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::pools {

// Equal slots of one device, all of one resource.
struct Cut {
  config::Share share;            // of the slots: with one size if they are memory slices
  unsigned slots = 1;             // 1 or more
  std::optional<Bytes> memory{};  // of each slot; nothing: it is not limited
  // Percent of the device's threads that each program of a slot may use; 0: not shared by MPS.
  unsigned threads = 0;
  unsigned compute = 0;  // percent of the device's time for each slot; 0: no share
};

// Memory that programs can allocate on the device: all of it, without what the driver keeps for
// itself. Nothing: the driver does not report it.
std::optional<Bytes> UsableMemory(const Device& device);

// The cuts of a device with this much usable memory, by size in the order of the settings. Slices
// never overlap, and their limits are whole MiB. Errors: FailedPrecondition (the memory is unknown,
// or too small for one slice or for the layout, or there is less time than the slots' shares), with
// the amounts and the fix.
StatusOr<std::vector<Cut>> CutsOf(const config::Share& share, std::optional<Bytes> usable);

// Whether the device can be shared by MPS. Errors: FailedPrecondition (MIG devices, GPUs older than
// Volta), with the fix. Source: NVIDIA's MPS documentation, "Volta MPS" (limits on memory and
// threads, several users).
Status CheckMps(const Device& device);

// For people: how much of a device equal slices leave unused, if another one almost fits; empty:
// they use it well. `name` is what they are cut from.
std::string WasteNote(const config::Share& share, std::string_view name,
                      std::optional<Bytes> usable);

}  // namespace kgpu::pools
