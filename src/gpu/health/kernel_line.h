// What NVIDIA's kernel modules say of faults in the kernel's log. Pure.
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
  bool is_fatal = false;    // of an XID of NVLink 5 (144 to 150): the driver calls it so
  std::string_view text{};  // what follows the code; part of the line
};

// The message of a record of /dev/kmsg, "6,1234,5678,-;NVRM: …", when it is the kernel's own: who
// may write to the log may not take GPUs away. Nothing for records of programs and for lines that
// belong to the record before. Source: the kernel's Documentation/ABI/testing/dev-kmsg.
std::optional<std::string_view> KernelMessage(std::string_view record);

// Its number, "1234" above: one more for each record since the host was started.
std::optional<uint64_t> RecordNumber(std::string_view record);

// Nothing for a message that is about something else; of the lines that a switch writes of one
// error only that which says how grave it is. Source: NVIDIA's open kernel modules, the print of an
// XID, and messages in public reports of drivers 352 to 590.
std::optional<KernelFault> ParseKernelMessage(std::string_view message);

}  // namespace kgpu::health
