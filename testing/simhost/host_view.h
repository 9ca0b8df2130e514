// Everything that the tree of a simulated host shows, as one plain value: the tree is a pure
// function of it. Made from a host's settings and the driver's state (host_state.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "testing/simhost/companions.h"
#include "testing/simhost/profile.h"

namespace kgpu::simhost {

enum class Distro { kDebian, kUbuntu, kRhel, kSuse };
enum class Arch { kX86_64, kAarch64 };

// Character device majors. 195 and 226 are fixed; a kernel assigns the others freely.
inline constexpr unsigned kNvidiaMajor = 195;
inline constexpr unsigned kDrmMajor = 226;
inline constexpr unsigned kControlMinor = 255;
inline constexpr unsigned kModesetMinor = 254;

struct DynamicMajors {
  unsigned uvm = 0;
  unsigned caps = 0;
  unsigned nvswitch = 0;
  unsigned nvlink = 0;
  unsigned imex = 0;
  unsigned gds = 0;
  unsigned gdrcopy = 0;
  unsigned infiniband = 0;
  bool operator==(const DynamicMajors&) const = default;
};

// Majors from 511 downwards that `proc_devices` (text of /proc/devices) does not list, so that a
// simulated node never opens a real device of this machine.
DynamicMajors FreeMajors(std::string_view proc_devices);

struct GpuInstanceView {
  unsigned id = 0;
  std::vector<unsigned> compute_instances;
  bool operator==(const GpuInstanceView&) const = default;
};

struct GpuView {
  std::string name;  // as in NVML
  std::string vbios;
  device::PciBusId pci;
  uint16_t pci_device = 0;
  uint16_t pci_subsystem_vendor = 0;
  uint16_t pci_subsystem_device = 0;
  uint32_t pci_class = 0;  // 0x030200
  unsigned pcie_generation = 0;
  unsigned pcie_width = 0;
  uint64_t bar1_mib = 0;
  bool is_mig_capable = false;
  unsigned minor = 0;
  unsigned numa_node = 0;
  std::optional<unsigned> pcie_switch;
  std::string uuid;
  bool has_fallen_off = false;  // still listed, but its config space reads as ones
  bool is_mig_enabled = false;
  std::vector<GpuInstanceView> instances;
  bool operator==(const GpuView&) const = default;
};

// A process on a GPU that runs on this machine.
struct ProcessView {
  uint32_t pid = 0;
  std::string cgroup;  // text of its /proc/<pid>/cgroup
  bool operator==(const ProcessView&) const = default;
};

struct HostView {
  Distro distro = Distro::kDebian;
  Arch arch = Arch::kX86_64;
  bool has_32bit = false;
  std::string kernel_release;
  std::vector<std::string> numa_cpu_lists;
  DynamicMajors majors;
  std::vector<ProfileSwitch> nvswitches;
  bool is_module_open = false;
  std::string module_version;   // empty: the kernel module is not loaded
  std::string library_version;  // empty: no user space driver is installed
  bool is_nouveau = false;      // the nouveau module holds the GPUs
  std::vector<GpuView> gpus;    // on the bus, by minor
  std::vector<ProcessView> processes;
  Companions companions;
  // The bytes of libnvidia-ml.so; null: a stub is used instead.
  std::shared_ptr<const std::string> nvml_library;
  // The same of libcuda.so.
  std::shared_ptr<const std::string> cuda_library;
  // Of nvidia-cuda-mps-control.
  std::shared_ptr<const std::string> mps_program;
  bool operator==(const HostView&) const = default;  // of the library, the same object
};

// "GPU-…" for the GPU at `index`: the same for the same profile and seed on every machine.
std::string GpuUuid(std::string_view profile, uint64_t seed, unsigned index);
std::string GpuSerial(std::string_view profile, uint64_t seed, unsigned index);

}  // namespace kgpu::simhost
