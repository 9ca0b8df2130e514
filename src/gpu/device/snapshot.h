// The inventory of a host at one moment. Immutable once published; every view (CLI, CDI, device
// plugin, labels, metrics) is a pure function of it. Two snapshots of the same host compare equal
// if nothing that a view shows has changed, whatever their versions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/companion.h"
#include "src/gpu/device/gpu.h"

namespace kgpu::device {

enum class DriverState {
  kReady,            // the library answers
  kStarting,         // the first answer is still pending
  kMissing,          // no NVIDIA kernel module is loaded, and none is known to be installed
  kNotLoaded,        // libraries are installed, but the kernel module is not loaded
  kNouveau,          // the nouveau module holds the GPUs
  kVersionMismatch,  // kernel module and library differ: reboot or reload the module
  kNoLibrary,        // kernel module loaded, libnvidia-ml.so.1 not found below the driver root
  kNoPermission,     // device nodes cannot be opened: privileges or cgroup rules are missing
  kUnresponsive,     // a driver call hangs; we abandoned the probe
  kFailed,           // anything else; the reason says what
};

// "Ready", "VersionMismatch", …: the enumerator without its k.
std::string_view ToString(DriverState state);

struct Driver {
  DriverState state = DriverState::kStarting;
  std::string reason;             // for people, with the fix; empty when ready
  std::string version;            // of the answering library: "535.104.05"; may be empty
  std::string module_version;     // of the loaded kernel module; may be empty
  std::string nvml_version;       // "12.535.104.05"
  std::optional<int> cuda_major;  // highest CUDA the driver supports
  std::optional<int> cuda_minor;
  std::string library_path;  // the NVML file in use, as this process sees it
  bool operator==(const Driver&) const = default;
};

// A GPU that PCI shows but NVML does not: no driver, lost before we saw it, bound to vfio, …
struct UnmanagedGpu {
  PciBusId pci;
  uint16_t pci_device_id = 0;
  std::string pci_class;      // "3d-controller" or "vga"
  std::string kernel_driver;  // "vfio-pci", "nouveau", "" for none
  std::string reason;         // why it cannot be used, with the fix
  bool operator==(const UnmanagedGpu&) const = default;
};

struct Snapshot {
  uint64_t version = 0;  // increases by one with every published change
  Driver driver;
  std::vector<Gpu> gpus;                  // sorted by PCI address
  std::vector<UnmanagedGpu> unmanaged;    // sorted by PCI address
  std::vector<CompanionNode> companions;  // sorted
  // GPUs that the driver counts as lost without naming them. A GPU that was known before is in
  // `gpus`, unhealthy.
  unsigned lost_gpus = 0;

  // Compares everything except the version.
  bool SameAs(const Snapshot& other) const;
  const Gpu* FindGpu(const GpuUuid& uuid) const;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace kgpu::device
