#include "src/container/inject/companion_specs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/container/inject/edits.h"

namespace kgpu::inject {
namespace {

using device::Companion;
using device::CompanionNode;

constexpr std::array kCompanions = {Companion::kImexChannel, Companion::kGds, Companion::kGdrcopy,
                                    Companion::kMofed};
// Ours, and NVIDIA's for those who have its names in their scripts.
constexpr std::array<std::string_view, 2> kVendors = {"kgpu.dev", "nvidia.com"};

// A spec of all that the driver can be configured to make (2^20) is more than engines read.
constexpr size_t kMaxChannels = 4096;

std::string KindOf(std::string_view vendor, Companion companion) {
  return fmt::format("{}/{}", vendor, device::ToString(companion));
}

cdi::DeviceNode NodeOf(const CompanionNode& node, const host::DriverRoot& root) {
  return ToNode({{node.path, node.major, node.minor}, root.EnginePath(root.host, node.path)});
}

// A mount of `path` from the first of `places` that has it, with the target of its links.
std::optional<cdi::Mount> MountOf(const std::string& path,
                                  const std::vector<const sys::Root*>& places,
                                  const host::DriverRoot& root) {
  for (const sys::Root* place : places) {
    if (const StatusOr<std::string> real = place->Resolve(path); real.ok()) {
      return cdi::Mount{
          root.EnginePath(*place, *real), path, {kReadOnlyMount.begin(), kReadOnlyMount.end()}, ""};
    }
  }
  return std::nullopt;
}

// libcufile looks up disks in udev's database and reads its settings. Source: cuFile's manual.
std::vector<cdi::Mount> GdsMounts(const host::DriverRoot& root) {
  std::vector<cdi::Mount> mounts;
  if (auto settings = MountOf("/etc/cufile.json", {&root.driver, &root.host}, root)) {
    mounts.push_back(*std::move(settings));
  }
  if (auto udev = MountOf("/run/udev", {&root.host}, root)) {
    mounts.push_back(*std::move(udev));
  }
  return mounts;
}

void AddDevice(cdi::Spec& spec, std::string name, std::vector<cdi::DeviceNode> nodes) {
  cdi::Device& device = spec.devices.emplace_back();
  device.name = std::move(name);
  device.edits.device_nodes = std::move(nodes);
}

cdi::Spec SpecOf(Companion companion, const device::Snapshot& snapshot,
                 const host::DriverRoot& root, std::vector<std::string>& notes) {
  cdi::Spec spec;
  std::vector<cdi::DeviceNode> all;
  std::optional<unsigned> last;
  for (const CompanionNode& node : snapshot.companions) {
    const bool is_channel = companion == Companion::kImexChannel;
    // "channel01" beside "channel1" is somebody's joke.
    if (node.companion != companion || (is_channel && last == node.number)) {
      continue;
    }
    if (is_channel && all.size() == kMaxChannels) {
      notes.push_back(fmt::format("IMEX channels from {} on are skipped: the limit is {}",
                                  node.number, kMaxChannels));
      break;
    }
    last = node.number;
    all.push_back(NodeOf(node, root));
    if (is_channel) {
      AddDevice(spec, std::to_string(node.number), {all.back()});
    }
  }
  if (all.empty()) {
    return spec;
  }
  if (companion == Companion::kGds) {
    spec.edits.mounts = GdsMounts(root);
  }
  AddDevice(spec, "all", std::move(all));
  return spec;
}

}  // namespace

std::vector<std::string> CompanionKinds() {
  std::vector<std::string> kinds;
  for (const Companion companion : kCompanions) {
    for (const std::string_view vendor : kVendors) {
      kinds.push_back(KindOf(vendor, companion));
    }
  }
  return kinds;
}

CompanionSpecs BuildCompanionSpecs(const device::Snapshot& snapshot, const host::DriverRoot& root) {
  CompanionSpecs set;
  for (const Companion companion : kCompanions) {
    cdi::Spec spec = SpecOf(companion, snapshot, root, set.notes);
    for (const std::string_view vendor : kVendors) {
      spec.kind = KindOf(vendor, companion);
      spec.version = cdi::MinimumVersion(spec);
      set.specs.push_back(spec);
    }
  }
  return set;
}

}  // namespace kgpu::inject
