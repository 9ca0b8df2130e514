#include "src/node/dra/attributes.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

constexpr size_t kMaxText = 64;  // bytes of an attribute's value

json::object Text(std::string_view text) {
  return {{"string", text.substr(0, kMaxText)}};
}

json::object Version(std::string_view text) {
  return {{"version", SemanticVersion(text)}};
}

json::object Number(int64_t number) {
  return {{"int", number}};
}

json::object Amount(const std::string& value) {
  return {{"value", value}};
}

// As NVIDIA's Go libraries write it.
std::string ArchitectureText(std::string_view architecture) {
  if (architecture == "ada") {
    return "Ada Lovelace";
  }
  std::string text(architecture);
  if (!text.empty() && IsLower(text[0])) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

// The lowest index among the GPUs that all reach each other by NVLink; nothing for a GPU without
// such links, and where not every pair of them has one.
std::optional<unsigned> NvLinkGroup(const device::Snapshot& snapshot, const device::Gpu& gpu) {
  const auto linked = [](const device::Gpu& one) {
    std::set<unsigned> group = {one.index};
    for (const device::PeerPath& peer : one.peers) {
      if (peer.nvlinks > 0) {
        group.insert(peer.peer_index);
      }
    }
    return group;
  };
  const std::set<unsigned> group = linked(gpu);
  const bool is_complete = std::ranges::all_of(snapshot.gpus, [&](const device::Gpu& other) {
    return !group.contains(other.index) || linked(other) == group;
  });
  return group.size() > 1 && is_complete ? std::optional(*group.begin()) : std::nullopt;
}

// The attributes of all devices of a GPU.
json::object CommonAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                              const Extras& extras) {
  const device::ComputeCapability compute = gpu.compute.value_or(device::ComputeCapability{});
  json::object attributes = {
      {"productName", Text(gpu.name)},
      {"brand", Text(gpu.brand == "NVIDIA" ? "Nvidia" : gpu.brand)},
      {"architecture", Text(ArchitectureText(gpu.architecture))},
      {"cudaComputeCapability", Version(fmt::format("{}.{}.0", compute.major, compute.minor))},
      {"driverVersion", Version(snapshot.driver.version)},
      {"cudaDriverVersion", Version(fmt::format("{}.{}.0", snapshot.driver.cuda_major.value_or(0),
                                                snapshot.driver.cuda_minor.value_or(0)))},
      {"resource.kubernetes.io/pciBusID", Text(gpu.pci.str())},
      {"kgpu.dev/model", Text(gpu.model)},
      {"kgpu.dev/pool", Text(extras.resource)}};
  if (!extras.pcie_root.empty()) {
    attributes["resource.kubernetes.io/pcieRoot"] = Text(extras.pcie_root);
  }
  if (gpu.numa_node) {
    attributes["resource.kubernetes.io/numaNode"] = Number(*gpu.numa_node);
  }
  return attributes;
}

void AddCapacity(json::object& capacities, const char* name, uint64_t count) {
  if (count > 0) {
    capacities[name] = Amount(std::to_string(count));
  }
}

void AddMemorySlices(json::object& capacities, unsigned start, unsigned count) {
  for (unsigned slice = start; slice < start + count; ++slice) {
    capacities[fmt::format("memorySlice{}", slice)] = Amount("1");
  }
}

json::object MigOf(const device::Snapshot& snapshot, const device::Gpu& gpu,
                   std::string_view profile, const Extras& extras) {
  json::object attributes = CommonAttributes(snapshot, gpu, extras);
  attributes["type"] = Text("mig");
  attributes["profile"] = Text(profile);
  attributes["parentUUID"] = Text(gpu.uuid.str());
  return attributes;
}

}  // namespace

json::object GpuAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                           const Extras& extras) {
  json::object attributes = CommonAttributes(snapshot, gpu, extras);
  attributes["type"] = Text("gpu");
  attributes["uuid"] = Text(gpu.uuid.str());
  if (const auto group = NvLinkGroup(snapshot, gpu); group) {
    attributes["kgpu.dev/nvlinkGroup"] = Number(*group);
  }
  if (gpu.fabric) {
    attributes["kgpu.dev/nvlinkDomain"] =
        Text(fmt::format("{}.{}", gpu.fabric->cluster_uuid, gpu.fabric->clique_id));
  }
  return attributes;
}

json::object MigAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                           const device::MigDevice& mig, const Extras& extras) {
  json::object attributes = MigOf(snapshot, gpu, mig.profile, extras);
  attributes["uuid"] = Text(mig.uuid.str());
  return attributes;
}

json::object ProfileAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                               const device::MigProfile& profile, const Extras& extras) {
  return MigOf(snapshot, gpu, profile.name, extras);
}

json::object GpuCapacities(const device::Gpu& gpu, const mig::Geometry* geometry) {
  json::object capacities;
  if (gpu.memory) {
    capacities["memory"] = Amount(FormatQuantity(*gpu.memory));
  }
  if (geometry == nullptr) {
    return capacities;
  }
  device::MigProfile most;
  for (const device::MigProfile& profile : geometry->profiles()) {
    most.multiprocessors = std::max(most.multiprocessors, profile.multiprocessors);
    most.copy_engines = std::max(most.copy_engines, profile.copy_engines);
    most.decoders = std::max(most.decoders, profile.decoders);
    most.encoders = std::max(most.encoders, profile.encoders);
    most.jpegs = std::max(most.jpegs, profile.jpegs);
    most.ofas = std::max(most.ofas, profile.ofas);
  }
  for (auto& capacity : ProfileCapacities(most, 0)) {
    capacities[capacity.key()] = std::move(capacity.value());
  }
  return capacities;
}

json::object MigCapacities(const device::MigDevice& mig, const device::MigProfile* profile) {
  json::object capacities;
  if (mig.memory) {
    capacities["memory"] = Amount(FormatQuantity(*mig.memory));
  }
  AddCapacity(capacities, "multiprocessors", mig.multiprocessors);
  AddCapacity(capacities, "copyEngines", mig.engines.copy);
  AddCapacity(capacities, "decoders", mig.engines.decoder);
  AddCapacity(capacities, "encoders", mig.engines.encoder);
  AddCapacity(capacities, "jpegEngines", mig.engines.jpeg);
  AddCapacity(capacities, "ofaEngines", mig.engines.ofa);
  if (profile != nullptr && mig.placement_start) {
    AddMemorySlices(capacities, *mig.placement_start, profile->memory_slices);
  }
  return capacities;
}

json::object ProfileCapacities(const device::MigProfile& profile, unsigned start) {
  json::object capacities;
  if (profile.memory.count > 0) {
    capacities["memory"] = Amount(FormatQuantity(profile.memory));
  }
  AddCapacity(capacities, "multiprocessors", profile.multiprocessors);
  AddCapacity(capacities, "copyEngines", profile.copy_engines);
  AddCapacity(capacities, "decoders", profile.decoders);
  AddCapacity(capacities, "encoders", profile.encoders);
  AddCapacity(capacities, "jpegEngines", profile.jpegs);
  AddCapacity(capacities, "ofaEngines", profile.ofas);
  AddMemorySlices(capacities, start, profile.memory_slices);
  return capacities;
}

json::object TaintOf(const device::Health& health) {
  const auto taint = [](std::string_view key, std::string_view value) {
    json::object made = {{"key", key}, {"effect", "NoSchedule"}};
    if (!value.empty()) {
      made["value"] = value;
    }
    return made;
  };
  if (health.reason.starts_with("Xid")) {
    return taint("gpu.nvidia.com/xid", std::string_view(health.reason).substr(3));
  }
  return health.reason == "GpuLost" ? taint("gpu.nvidia.com/gpu-lost", "")
                                    : taint(kUnhealthyTaint, health.reason);
}

std::string SemanticVersion(std::string_view text) {
  std::vector<uint64_t> numbers;
  for (const std::string_view part : Split(text, '.')) {
    const auto number = ParseUint(part);
    if (!number) {
      return "0.0.0";
    }
    numbers.push_back(*number);
  }
  numbers.resize(3);
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

}  // namespace kgpu::dra
