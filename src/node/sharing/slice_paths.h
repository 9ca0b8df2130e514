// Where the parts of a memory limit are: on the host, and in the containers that have slices.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/sharing/kind.h"
#include "src/preload/slot_names.h"

namespace kgpu::sharing {

// In a container. Each slot is a folder of its own name: slots of several resources must not
// collide.
inline constexpr std::string_view kContainerLibrary = "/usr/lib/kgpu/libkgpu-share.so";
inline constexpr std::string_view kContainerSlots = "/usr/lib/kgpu/slots";
// The loader's list of libraries for every program. Source: ld.so(8).
inline constexpr std::string_view kPreloadList = "/etc/ld.so.preload";
// The library in a container, on the host.
inline constexpr std::string_view kLibraryName = "libkgpu-share.so";
// Slots that one container can have.
inline constexpr size_t kMostSlices = preload::kMaxSlots;
// In the folder of a slot; on the host, behind the slot's name.
inline constexpr std::string_view kLimitsName = "limits";
inline constexpr std::string_view kLedgerName = "ledger";
inline constexpr std::string_view kGateName = "gate";  // of slots with a share of the time

// Where the agent keeps them, as container engines call it: "/var/lib/kgpu/share".
struct SlicePaths {
  std::string folder;
  bool operator==(const SlicePaths&) const = default;
};

// On the host: the loader's list, with the one line kContainerLibrary.
inline constexpr std::string_view kPreloadName = "ld.so.preload";
// "GPU-…::3" → "GPU-…_3": engines take colons in paths for separators.
std::string NameOfSlot(std::string_view slot_id);
// "GPU-…::3" and "limits" → "GPU-…_3.limits".
std::string FileOfSlot(std::string_view slot_id, std::string_view name);

// The files and variables of a container with these slots. All but the ledgers is read-only.
// `has_gates`: the slots have shares of their devices' time.
std::vector<Mount> MountsOf(const SlicePaths& paths, std::span<const std::string> slot_ids,
                            bool has_gates);

}  // namespace kgpu::sharing
