// One GPU and its MIG devices as values, as the driver describes them. A field that the driver does
// not support on this GPU is nullopt, never an invented zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/base/bytes.h"

namespace kgpu::device {

// Why a device can, or cannot, be allocated.
struct Health {
  bool is_healthy = true;
  std::string reason;  // stable CamelCase word for machines: "Xid79", "GpuLost"; empty when healthy
  std::string message;  // one sentence for people, with the fix
  bool operator==(const Health&) const = default;
};

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

// What the other end of an NVLink is.
enum class NvLinkPeer { kGpu, kSwitch, kOther, kUnknown };

struct NvLink {
  unsigned link = 0;  // number of the link on this GPU
  bool is_active = false;
  unsigned version = 0;  // NVLink generation, 0 unknown
  NvLinkPeer peer = NvLinkPeer::kUnknown;
  std::optional<PciBusId> remote;
  auto operator<=>(const NvLink&) const = default;
};

// How two GPUs of one host reach each other without NVLink, closest first. Source:
// nvmlDeviceGetTopologyCommonAncestor.
enum class PciePath {
  kSameBoard,
  kSingleSwitch,
  kMultipleSwitches,
  kHostBridge,
  kSameNuma,
  kCrossNuma,
  kUnknown
};

struct PeerPath {
  unsigned peer_index = 0;  // Gpu::index of the other GPU
  PciePath path = PciePath::kUnknown;
  unsigned nvlinks = 0;  // active links, direct or through a switch fabric
  auto operator<=>(const PeerPath&) const = default;
};

// The NVLink domain that a GPU shares with GPUs of other hosts, and its clique: the part of the
// domain that it can reach. Source: nvmlDeviceGetGpuFabricInfo.
struct FabricId {
  std::string cluster_uuid;  // "4d1c…-…", without a prefix
  unsigned clique_id = 0;
  auto operator<=>(const FabricId&) const = default;
};

// Engines of a MIG device; compute instances of one GPU instance share them.
struct MigEngines {
  unsigned copy = 0;
  unsigned decoder = 0;
  unsigned encoder = 0;
  unsigned jpeg = 0;
  unsigned ofa = 0;
  bool operator==(const MigEngines&) const = default;
};

// A MIG device: one compute instance in one GPU instance.
struct MigDevice {
  MigUuid uuid;
  unsigned index = 0;         // NVML's index of the MIG device within its GPU
  unsigned gpu_instance = 0;  // GI id
  unsigned compute_instance = 0;
  std::string profile;  // "1g.10gb", "1g.10gb+me", "1c.3g.40gb"
  // First memory slice of the GPU instance; nullopt: the driver does not report it.
  std::optional<unsigned> placement_start{};
  unsigned gpu_instance_slices = 0;
  unsigned compute_instance_slices = 0;
  unsigned multiprocessors = 0;
  MigEngines engines;
  std::optional<Bytes> memory;
  // Minors of the /dev/nvidia-caps/nvidia-cap<N> that give access to this device, from
  // /proc/driver/nvidia/capabilities; nullopt if the driver lists none.
  std::optional<unsigned> gpu_instance_cap_minor;
  std::optional<unsigned> compute_instance_cap_minor;
  Health health;
  bool operator==(const MigDevice&) const = default;
};

struct MigMode {
  bool is_enabled = false;
  bool is_pending_enabled = false;  // after the next GPU reset
  bool operator==(const MigMode&) const = default;
};

struct Gpu {
  GpuUuid uuid;
  unsigned index = 0;  // NVML's index at the time of the snapshot; may change on reboot
  unsigned minor = 0;  // N of /dev/nvidia<N>
  PciBusId pci;
  uint16_t pci_vendor_id = 0;  // 0x10de
  uint16_t pci_device_id = 0;
  uint32_t pci_class = 0;    // 0x0302 3D controller, 0x0300 VGA; 0: the host does not show it
  std::string name;          // as the driver says: "NVIDIA A100-SXM4-80GB"
  std::string model;         // canonical id used by selectors and labels: "A100-SXM4-80GB"
  std::string architecture;  // "ampere", lower case; empty when unknown
  std::string brand;         // "NVIDIA", "Tesla", "GeForce", …
  std::string serial;        // empty if the board has none
  std::string vbios;
  std::optional<Bytes> memory;  // all of the framebuffer
  // What programs can allocate of it: without what the driver and the firmware keep. All of it for
  // drivers that do not tell.
  std::optional<Bytes> usable_memory{};
  std::optional<ComputeCapability> compute;
  std::optional<bool> is_ecc_enabled;
  std::optional<unsigned> numa_node;
  std::optional<MigMode> mig_mode;     // nullopt: not MIG capable
  std::vector<MigDevice> mig_devices;  // sorted by (gpu_instance, compute_instance)
  std::optional<FabricId> fabric;      // nullopt: no domain that spans hosts
  std::vector<NvLink> nvlinks;         // sorted by link
  std::vector<PeerPath> peers;         // sorted by peer_index
  Health health;
  bool operator==(const Gpu&) const = default;
};

}  // namespace kgpu::device
