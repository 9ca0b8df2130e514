// NVIDIA's device nodes in a host's /dev, and what each belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// A character device below /dev.
struct DeviceFile {
  std::string path;  // "/dev/nvidia0"
  unsigned major = 0;
  unsigned minor = 0;
  bool operator==(const DeviceFile&) const = default;
};

struct GpuNode {
  unsigned gpu_minor = 0;
  DeviceFile node;
  bool operator==(const GpuNode&) const = default;
};

struct CapNode {
  unsigned cap_minor = 0;
  DeviceFile node;
  bool operator==(const CapNode&) const = default;
};

struct DeviceNodes {
  std::vector<GpuNode> gpus;          // by minor
  std::vector<CapNode> caps;          // /dev/nvidia-caps/nvidia-cap<N>, by minor
  std::optional<DeviceFile> control;  // /dev/nvidiactl
  std::optional<DeviceFile> uvm;
  std::optional<DeviceFile> uvm_tools;
  std::optional<DeviceFile> modeset;
  std::vector<std::string> problems;  // files that have the name of a node but are none

  const DeviceFile* FindCap(unsigned cap_minor) const;
};

// The character device at `path`; nullopt for anything else, including a link to one.
std::optional<DeviceFile> ReadDeviceFile(const sys::Root& host, std::string path);

// The N of "nvidia<N>" or "nvidia-cap<N>"; nullopt for any other name.
std::optional<unsigned> NumberedNode(std::string_view name, std::string_view prefix);

// Never opens a node. Errors: those of listing /dev.
StatusOr<DeviceNodes> ReadDeviceNodes(const sys::Root& host);

// Card and render nodes of one PCI function ("/dev/dri/card1", "/dev/dri/renderD128"), sorted;
// empty if the display driver is not loaded. Source: /sys/bus/pci/devices/<address>/drm.
std::vector<DeviceFile> ReadDriNodes(const sys::Root& host, const device::PciBusId& pci);

}  // namespace kgpu::host
