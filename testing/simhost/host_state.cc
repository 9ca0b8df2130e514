#include "testing/simhost/host_state.h"

#include <algorithm>
#include <set>

#include "src/platform/base/status_macros.h"
#include "testing/driver/mig.h"
#include "testing/simhost/gpu_state.h"

namespace kgpu::simhost {
namespace {

// NVML_TOPOLOGY_*. Source: nvml.h.
enum Topology : uint8_t {
  kSameBoard = 0,
  kSingleSwitch = 10,
  kHostBridge = 30,
  kSameNode = 40,
  kWholeSystem = 50
};

Topology PathBetween(const ProfileGpu& left, const ProfileGpu& right) {
  if (left.board && left.board == right.board) {
    return kSameBoard;
  }
  if (left.pcie_switch && left.pcie_switch == right.pcie_switch) {
    return kSingleSwitch;
  }
  if (left.numa_node != right.numa_node) {
    return kWholeSystem;
  }
  // Virtual machines put all their devices on bus 0 of one host bridge.
  return left.pci.bus == 0 && right.pci.bus == 0 ? kHostBridge : kSameNode;
}

// MB/s of one link and direction, by NVLink generation. Source: NVIDIA's architecture papers.
uint32_t LinkSpeed(unsigned version) {
  switch (version) {
    case 1:
      return 20000;
    case 4:
      return 26562;
    case 5:
      return 53125;
    default:
      return 25000;
  }
}

sim::SimPci PciOf(const device::PciBusId& address, uint32_t device) {
  sim::SimPci pci{};
  pci.domain = address.domain;
  pci.bus = address.bus;
  pci.device = address.device;
  pci.function = address.function;
  pci.vendor_id = 0x10de;
  pci.device_id = device;
  pci.class_code = 0x068000;
  return pci;
}

// The GPUs that `index` is wired to where no switch stands between them: those of its model.
std::vector<size_t> DirectPeers(const Profile& profile, size_t index) {
  std::vector<size_t> peers;
  for (size_t other = 0; other < profile.gpus.size(); ++other) {
    if (other != index && profile.gpus[other].model == profile.gpus[index].model) {
      peers.push_back(other);
    }
  }
  return peers;
}

void WireLinks(const Profile& profile, size_t index, sim::SimState& state) {
  const GpuModel& model = profile.models.at(profile.gpus[index].model);
  sim::SimGpu& gpu = state.gpus[index];
  const std::vector<size_t> peers = DirectPeers(profile, index);
  const bool is_switched = profile.nvlink == NvLinkFabric::kSwitched;
  gpu.nvlink_count = std::min(model.nvlinks, sim::kMaxNvLinks);
  for (unsigned i = 0; i < gpu.nvlink_count; ++i) {
    sim::SimNvLink& link = gpu.nvlinks[i];
    link.exists = 1;
    link.version = model.nvlink_version;
    link.speed_mbps = LinkSpeed(model.nvlink_version);
    link.remote_type = sim::kRemoteUnknown;
    if (is_switched) {
      link.is_active = 1;
      link.remote_type = sim::kRemoteSwitch;
      link.remote_link = static_cast<uint32_t>(index);
      if (!profile.nvswitches.empty()) {
        const ProfileSwitch& peer = profile.nvswitches[i % profile.nvswitches.size()];
        link.remote = PciOf(peer.pci, peer.pci_device);
      }
    } else if (profile.nvlink == NvLinkFabric::kDirect && !peers.empty()) {
      link.is_active = 1;
      link.remote_type = sim::kRemoteGpu;
      link.remote_link = i;
      link.remote = state.gpus[peers[i % peers.size()]].pci;
    }
  }
}

std::string GspVersion(const Profile& profile, const HostSettings& settings) {
  return profile.driver.is_open ? settings.driver_version : "";
}

GpuPlace PlaceOf(const Profile& profile, const HostSettings& settings, unsigned index) {
  const ProfileGpu& gpu = profile.gpus[index];
  GpuPlace place;
  place.pci = gpu.pci;
  place.minor = index;
  place.numa_node = gpu.numa_node;
  place.cpu_list = profile.numa_cpu_lists.at(gpu.numa_node);
  place.board = gpu.board.value_or(0);
  place.shares_board = gpu.board.has_value();
  place.uuid = GpuUuid(settings.profile, settings.seed, index);
  place.serial = GpuSerial(settings.profile, settings.seed, gpu.board.value_or(index));
  place.gsp_firmware = GspVersion(profile, settings);
  return place;
}

void FillDriver(const Profile& profile, const HostSettings& settings, sim::SimDriver& driver) {
  driver.is_loaded = settings.driver_version.empty() ? 0 : 1;
  driver.cuda_version = profile.driver.cuda_major * 1000 + profile.driver.cuda_minor * 10;
  CopyText(settings.driver_version, driver.version);
  CopyText(settings.driver_version, driver.library_version);
  driver.is_open_module = profile.driver.is_open ? 1 : 0;
  driver.nvidia_major = kNvidiaMajor;
  driver.uvm_major = settings.majors.uvm;
  driver.caps_major = settings.majors.caps;
  driver.nvswitch_major = profile.nvswitches.empty() ? 0 : settings.majors.nvswitch;
  driver.nvswitch_count = static_cast<uint32_t>(profile.nvswitches.size());
  for (const ProfileSwitch& nvswitch : profile.nvswitches) {
    driver.highest_bus = std::max<uint32_t>(driver.highest_bus, nvswitch.pci.bus);
  }
}

std::vector<GpuInstanceView> InstancesOf(const sim::SimMig& mig) {
  std::vector<GpuInstanceView> instances;
  for (const sim::SimGpuInstance& instance : mig.instances) {
    if (instance.exists == 0) {
      continue;
    }
    GpuInstanceView view{instance.id, {}};
    for (const sim::SimComputeInstance& compute : instance.compute_instances) {
      if (compute.exists != 0) {
        view.compute_instances.push_back(compute.id);
      }
    }
    instances.push_back(std::move(view));
  }
  return instances;
}

GpuView ViewOfGpu(const Profile& profile, const sim::SimGpu& gpu) {
  GpuView view;
  view.name = gpu.name;
  view.vbios = gpu.vbios;
  view.pci = {gpu.pci.domain, static_cast<uint8_t>(gpu.pci.bus),
              static_cast<uint8_t>(gpu.pci.device), static_cast<uint8_t>(gpu.pci.function)};
  view.pci_device = static_cast<uint16_t>(gpu.pci.device_id);
  view.pci_subsystem_vendor = static_cast<uint16_t>(gpu.pci.subsystem_vendor);
  view.pci_subsystem_device = static_cast<uint16_t>(gpu.pci.subsystem_device);
  view.pci_class = gpu.pci.class_code;
  view.pcie_generation = gpu.pcie.generation_max;
  view.pcie_width = gpu.pcie.width_max;
  view.bar1_mib = gpu.bar1_total == sim::kUnsupported64 ? 256 : gpu.bar1_total >> 20;
  view.is_mig_capable = gpu.mig.is_capable != 0;
  view.minor = gpu.minor;
  view.numa_node = gpu.numa_node < 0 ? 0 : static_cast<unsigned>(gpu.numa_node);
  const auto placed = std::ranges::find(profile.gpus, view.pci, &ProfileGpu::pci);
  if (placed != profile.gpus.end()) {
    view.pcie_switch = placed->pcie_switch;
  }
  view.uuid = gpu.uuid;
  view.has_fallen_off = gpu.is_lost != 0;
  view.is_mig_enabled = gpu.mig.mode != 0;
  view.instances = InstancesOf(gpu.mig);
  return view;
}

Status CreateInstances(const ProfileGpu& gpu, uint32_t slot, sim::SimState& state) {
  if (!gpu.mig) {
    return OkStatus();
  }
  RETURN_IF_ERROR(sim::SetMigMode(state, slot, true));
  sim::ApplyPendingMigMode(state, slot);
  for (const std::string& name : *gpu.mig) {
    if (const auto created = sim::MigCreate(state, slot, name); !created.ok()) {
      return Annotate(created.status(), "gpus[{}].mig: {}", slot, name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<sim::SimState>> InitialState(const Profile& profile,
                                                      const HostSettings& settings) {
  auto state = std::make_unique<sim::SimState>();
  state->magic = sim::kStateMagic;
  state->layout = sim::kStateLayout;
  state->size = sizeof(sim::SimState);
  CopyText(settings.profile, state->profile);
  FillDriver(profile, settings, state->driver);
  state->gpu_count = static_cast<uint32_t>(profile.gpus.size());
  for (unsigned i = 0; i < state->gpu_count; ++i) {
    FillGpu(profile.models.at(profile.gpus[i].model), PlaceOf(profile, settings, i),
            state->gpus[i]);
    for (unsigned other = 0; other < state->gpu_count; ++other) {
      state->gpus[i].topology[other] =
          i == other ? kSameBoard : PathBetween(profile.gpus[i], profile.gpus[other]);
    }
  }
  for (unsigned i = 0; i < state->gpu_count; ++i) {
    WireLinks(profile, i, *state);
    RETURN_IF_ERROR(CreateInstances(profile.gpus[i], i, *state));
  }
  return state;
}

StatusOr<std::unique_ptr<sim::SimGpu>> NewGpu(const GpuModel& model, const HostSettings& settings,
                                              const sim::SimState& state) {
  std::set<uint32_t> minors;
  std::set<uint32_t> buses;
  for (uint32_t i = 0; i < state.gpu_count; ++i) {
    if (state.gpus[i].is_present != 0) {
      minors.insert(state.gpus[i].minor);
      buses.insert(state.gpus[i].pci.bus);
    }
  }
  GpuPlace place;
  while (minors.contains(place.minor)) {
    ++place.minor;
  }
  // High buses with an odd number are free on every profile.
  uint32_t bus = 0xeb;
  while (bus > 0 && buses.contains(bus)) {
    bus -= 2;
  }
  if (place.minor >= sim::kMaxGpus) {
    return ResourceExhausted("the host already has {} GPUs: remove one first", sim::kMaxGpus);
  }
  place.pci.bus = static_cast<uint8_t>(bus);
  // Its own, also when the slot of a removed GPU is used again.
  const auto number = static_cast<unsigned>(1000 + state.version);
  place.uuid = GpuUuid(settings.profile, settings.seed, number);
  place.serial = GpuSerial(settings.profile, settings.seed, number);
  place.cpu_list = "0-7";
  auto gpu = std::make_unique<sim::SimGpu>();
  FillGpu(model, place, *gpu);
  std::ranges::fill(gpu->topology, static_cast<uint8_t>(kWholeSystem));
  return gpu;
}

HostView ViewOf(const Profile& profile, const HostSettings& settings, const sim::SimState& state) {
  HostView view;
  view.distro = settings.distro;
  view.arch = settings.arch;
  view.has_32bit = settings.has_32bit;
  view.kernel_release = profile.kernel_release;
  view.numa_cpu_lists = profile.numa_cpu_lists;
  view.majors = settings.majors;
  view.nvswitches = profile.nvswitches;
  view.is_nouveau = settings.is_nouveau;
  view.companions = settings.companions;
  if (!settings.is_nouveau) {
    view.is_module_open = state.driver.is_open_module != 0;
    view.module_version = state.driver.is_loaded != 0 ? state.driver.version : "";
    view.library_version = state.driver.library_version;
  }
  for (uint32_t i = 0; i < state.gpu_count; ++i) {
    if (state.gpus[i].is_present != 0) {
      view.gpus.push_back(ViewOfGpu(profile, state.gpus[i]));
    }
  }
  std::ranges::sort(view.gpus, {}, &GpuView::minor);
  return view;
}

}  // namespace kgpu::simhost
