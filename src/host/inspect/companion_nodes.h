// Finds the device nodes of IMEX channels, GPUDirect Storage, GDRCopy and RDMA cards.
#pragma once

#include <string_view>
#include <vector>

#include "src/gpu/device/companion.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

inline constexpr std::string_view kImexChannelFolder = "/dev/nvidia-caps-imex-channels";
inline constexpr std::string_view kInfinibandFolder = "/dev/infiniband";
// Prefixes of companion nodes directly below /dev.
inline constexpr std::string_view kGdsPrefix = "nvidia-fs";
inline constexpr std::string_view kGdrcopyName = "gdrdrv";

// Sorted; empty if no such module is loaded. Opens no node; skips files of these names that are no
// nodes. Source: nvidia-fs and gdrcopy modules, nvidia-modprobe, ib_uverbs.
std::vector<device::CompanionNode> ReadCompanionNodes(const sys::Root& host);

}  // namespace kgpu::host
