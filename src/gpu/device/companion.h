// Device nodes that GPU programs use besides those of the GPUs. Each kind is given to containers by
// a name of its own, and lies in the snapshot, so that views follow when one comes or goes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace kgpu::device {

enum class Companion : uint8_t {
  kImexChannel,  // the memory of GPUs of other hosts in one NVLink domain
  kGds,          // GPUDirect Storage: disks and GPU memory without a copy
  kGdrcopy,      // GPU memory mapped into the CPU's address space
  kMofed,        // RDMA network cards (NVIDIA's name: MLNX_OFED)
};

// The class of its CDI kind: "imex-channel", "gds", "gdrcopy", "mofed".
std::string_view ToString(Companion companion);

struct CompanionNode {
  Companion companion = Companion::kImexChannel;
  unsigned number = 0;  // the N of channelN, nvidia-fsN, uverbsN; 0 where the name has none
  std::string path;     // "/dev/gdrdrv"
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const CompanionNode&) const = default;
};

}  // namespace kgpu::device
