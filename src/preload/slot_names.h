// The slots of a container: each is a folder with the limits and the ledger.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

inline constexpr uint32_t kMaxSlots = 32;
inline constexpr size_t kMaxSlotName = 128;

// Names of the folders in `folder`, in the order of their bytes, so that all processes agree on the
// first; a container gets them from several sources, and their names say nothing. `names` has room
// for kMaxSlots. Returns how many there are, kMaxSlots + 1 if there are more, or -1 if the folder
// cannot be read. Source: getdents(2).
int ListSlots(const char* folder, char (*names)[kMaxSlotName]);

}  // namespace kgpu::preload
