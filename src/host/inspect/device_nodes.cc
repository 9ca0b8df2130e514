#include "src/host/inspect/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kGpuPrefix = "nvidia";
constexpr std::string_view kCapPrefix = "nvidia-cap";
constexpr std::string_view kCapsFolder = "/dev/nvidia-caps";

void ReadGpuNodes(const sys::Root& host, const std::vector<std::string>& names,
                  DeviceNodes& nodes) {
  for (const std::string& name : names) {
    const std::optional<unsigned> gpu_minor = NumberedNode(name, kGpuPrefix);
    if (!gpu_minor) {
      continue;
    }
    const std::string path = fmt::format("/dev/{}", name);
    if (std::optional<DeviceFile> node = ReadDeviceFile(host, path)) {
      nodes.gpus.push_back({*gpu_minor, *std::move(node)});
    } else {
      nodes.problems.push_back(
          fmt::format("{} is not a character device: remove it and run nvidia-modprobe -c {}",
                      host.At(path), *gpu_minor));
    }
  }
  std::ranges::sort(nodes.gpus, {}, &GpuNode::gpu_minor);
}

void ReadCapNodes(const sys::Root& host, DeviceNodes& nodes) {
  const StatusOr<std::vector<std::string>> names = host.ListDir(kCapsFolder);
  if (!names.ok()) {
    return;  // drivers without MIG have no such folder
  }
  for (const std::string& name : *names) {
    const std::optional<unsigned> cap_minor = NumberedNode(name, kCapPrefix);
    if (!cap_minor) {
      continue;
    }
    if (std::optional<DeviceFile> node =
            ReadDeviceFile(host, fmt::format("{}/{}", kCapsFolder, name))) {
      nodes.caps.push_back({*cap_minor, *std::move(node)});
    }
  }
  std::ranges::sort(nodes.caps, {}, &CapNode::cap_minor);
}

}  // namespace

const DeviceFile* DeviceNodes::FindCap(unsigned cap_minor) const {
  const auto node = std::ranges::find(caps, cap_minor, &CapNode::cap_minor);
  return node == caps.end() ? nullptr : &node->node;
}

std::optional<unsigned> NumberedNode(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  constexpr uint64_t kMaxMinor = 0xfffff;
  const std::optional<uint64_t> number = ParseUint(name.substr(prefix.size()));
  if (!number || *number > kMaxMinor) {
    return std::nullopt;
  }
  return static_cast<unsigned>(*number);
}

// Not followed: an entry of /dev that is a link is somebody's shortcut, not the driver's node.
std::optional<DeviceFile> ReadDeviceFile(const sys::Root& host, std::string path) {
  const StatusOr<struct stat> status = host.LinkStat(path);
  if (!status.ok() || !S_ISCHR(status->st_mode)) {
    return std::nullopt;
  }
  return DeviceFile{std::move(path), major(status->st_rdev), minor(status->st_rdev)};
}

StatusOr<DeviceNodes> ReadDeviceNodes(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, host.ListDir("/dev"));
  DeviceNodes nodes;
  ReadGpuNodes(host, names, nodes);
  ReadCapNodes(host, nodes);
  nodes.control = ReadDeviceFile(host, "/dev/nvidiactl");
  nodes.uvm = ReadDeviceFile(host, "/dev/nvidia-uvm");
  nodes.uvm_tools = ReadDeviceFile(host, "/dev/nvidia-uvm-tools");
  nodes.modeset = ReadDeviceFile(host, "/dev/nvidia-modeset");
  return nodes;
}

std::vector<DeviceFile> ReadDriNodes(const sys::Root& host, const device::PciBusId& pci) {
  std::vector<DeviceFile> nodes;
  const StatusOr<std::vector<std::string>> names =
      host.ListDir(fmt::format("/sys/bus/pci/devices/{}/drm", pci.str()));
  if (!names.ok()) {
    return nodes;
  }
  for (const std::string& name : *names) {
    if (!NumberedNode(name, "card") && !NumberedNode(name, "renderD")) {
      continue;
    }
    if (std::optional<DeviceFile> node = ReadDeviceFile(host, fmt::format("/dev/dri/{}", name))) {
      nodes.push_back(*std::move(node));
    }
  }
  return nodes;
}

}  // namespace kgpu::host
