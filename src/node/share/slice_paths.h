// Where the parts of a memory limit are: on the host, and in the containers that have slices.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::share {

// In a container. The library reads the slots' folders in order, from 0.
inline constexpr std::string_view kContainerLibrary = "/usr/lib/kgpu/libkgpu-share.so";
inline constexpr std::string_view kContainerSlots = "/usr/lib/kgpu/slots";
// The loader's list of libraries for every program. Source: ld.so(8).
inline constexpr std::string_view kPreloadList = "/etc/ld.so.preload";
// In the folder of a slot; on the host, behind the slot's name.
inline constexpr std::string_view kLimitsName = "limits";
inline constexpr std::string_view kLedgerName = "ledger";

// Where the agent keeps them, as container engines call these paths.
struct SlicePaths {
  std::string folder;   // "/var/lib/kgpu/share"
  std::string library;  // its file there: "libkgpu-share-5d0f….so"
  bool operator==(const SlicePaths&) const = default;
};

struct SliceMount {
  std::string container_path;
  std::string host_path;
  bool is_read_only = true;
  bool operator==(const SliceMount&) const = default;
};

// On the host: the loader's list, with the one line kContainerLibrary.
inline constexpr std::string_view kPreloadName = "ld.so.preload";
// "GPU-…::3" and "limits" → "GPU-…_3.limits": engines take colons in paths for separators.
std::string FileOfSlot(std::string_view slot_id, std::string_view name);

// What a container with these slots gets. All but the ledgers is read-only.
std::vector<SliceMount> MountsOf(const SlicePaths& paths, std::span<const std::string> slot_ids);

}  // namespace kgpu::share
