// Devices that are divided into slices of their memory, by what the kinds that do so share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/sharing/kind.h"

namespace kgpu::sharing {

class SlicedKind : public Kind {
 public:
  using Kind::Kind;

  Status CheckRequest(std::span<const SlotPart> slots, const Share& share) const override;
  // The library that keeps the limits, and the files of the slots.
  Access AccessTo(std::span<const SlotPart> slots, const Share& share,
                  const Places& places) const override;

 protected:
  static void CheckSizes(const Share& share, const Refuse& refuse);
  // Slices of `size` or `layout`, by size in the order of the settings, without time and threads.
  // They never overlap, and their limits are whole MiB. Errors: FailedPrecondition (the memory is
  // unknown, or too small for one slice or for the layout), with the amounts and the fix.
  static StatusOr<std::vector<Cut>> SlicesOf(const Share& share, std::optional<Bytes> usable);
};

// How much of a device equal slices leave unused, if another one almost fits; empty if they use it
// well. `name` is the divided device's.
std::string WasteNote(const Share& share, std::string_view name, std::optional<Bytes> usable);

}  // namespace kgpu::sharing
