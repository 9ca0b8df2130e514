// Finds the device nodes of IMEX channels, GPUDirect Storage, GDRCopy and RDMA cards.
#pragma once

#include <string_view>
#include <vector>

#include "src/gpu/device/companion.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

inline constexpr std::string_view kImexChannelFolder = "/dev/nvidia-caps-imex-channels";
inline constexpr std::string_view kInfinibandFolder = "/dev/infiniband";
// Nodes of companions right below /dev begin so.
inline constexpr std::string_view kGdsPrefix = "nvidia-fs";
inline constexpr std::string_view kGdrcopyName = "gdrdrv";

// Sorted; empty where none of them is loaded. Opens no node; what is in the place of one without
// being one is passed over. Source: nvidia-fs and gdrcopy modules, nvidia-modprobe, ib_uverbs.
std::vector<device::CompanionNode> ReadCompanionNodes(const sys::Root& host);

}  // namespace kgpu::host
