// Parses what NVIDIA's kernel modules write to the kernel log about faults. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/gpu/device/ids.h"

namespace kgpu::health {

enum class KernelWord : uint8_t {
  kXid,          // "NVRM: Xid (PCI:0000:07:00): 79, …"
  kLost,         // "NVRM: GPU 0000:07:00.0: GPU has fallen off the bus."
  kSwitchFatal,  // "nvidia-nvswitch3: SXid (PCI:0000:c8:00.0): 24007, Fatal, …"
  kSwitchError,  // the same, non-fatal
};

struct KernelFault {
  KernelWord word = KernelWord::kXid;
  device::PciBusId pci{};                      // of the GPU, or of the switch
  uint64_t code = 0;                           // XID or SXid
  std::optional<unsigned> gpu_instance{};      // "GPU-I:05"
  std::optional<unsigned> compute_instance{};  // "GPU-CI:00"
  std::optional<uint32_t> pid{};
  bool is_fatal = false;    // for an XID of NVLink 5 (144 to 150): the driver calls it fatal
  std::string_view text{};  // what follows the code; part of the line
};

// The message of a record of /dev/kmsg, "6,1234,5678,-;NVRM: …", if the kernel itself wrote it:
// programs that may write to the log must not be able to take GPUs away. Nothing for records of
// programs and for continuation lines. Source: the kernel's Documentation/ABI/testing/dev-kmsg.
std::optional<std::string_view> KernelMessage(std::string_view record);

// Its sequence number, "1234" above: increases by one with each record since boot.
std::optional<uint64_t> RecordNumber(std::string_view record);

// Nothing for a message about something else; of the lines that a switch writes about one error,
// only the one with the severity counts. Source: NVIDIA's open kernel modules (where they print an
// XID), and messages in public reports of drivers 352 to 590.
std::optional<KernelFault> ParseKernelMessage(std::string_view message);

}  // namespace kgpu::health
