// Device nodes that GPU programs use besides the GPUs' own. Each kind is injected under a name of
// its own and is part of the snapshot, so that views follow when one appears or vanishes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace kgpu::device {

enum class Companion : uint8_t {
  kImexChannel,  // memory of GPUs on other hosts in the same NVLink domain
  kGds,          // GPUDirect Storage: moves data between disks and GPU memory without a copy
  kGdrcopy,      // GPU memory mapped into the CPU's address space
  kMofed,        // RDMA network cards (NVIDIA's name: MLNX_OFED)
};

// The class of its CDI kind: "imex-channel", "gds", "gdrcopy", "mofed".
std::string_view ToString(Companion companion);

struct CompanionNode {
  Companion companion = Companion::kImexChannel;
  unsigned number = 0;  // the N of channelN, nvidia-fsN, uverbsN; 0 if the name has none
  std::string path;     // "/dev/gdrdrv"
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const CompanionNode&) const = default;
};

}  // namespace kgpu::device
