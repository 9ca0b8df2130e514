#include "src/node/inventory/assemble.h"

#include <algorithm>
#include <set>

#include "src/gpu/device/mig.h"
#include "src/gpu/device/model.h"
#include "src/gpu/device/topology.h"
#include "src/gpu/nvml/error_map.h"
#include "src/host/inspect/companion_nodes.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/module_fit.h"
#include "src/platform/base/strings.h"

namespace kgpu::inventory {
namespace {

using device::Gpu;
using device::Health;
using device::MigDevice;

Health Fault(nvml::Return code) {
  if (code == nvml::kErrorGpuIsLost) {
    return {false, "GpuLost",
            "The GPU has fallen off the bus: read dmesg for Xid lines, restart the host."};
  }
  if (code == nvml::kErrorResetRequired) {
    return {false, "ResetRequired",
            "The GPU must be reset: stop its programs, then run nvidia-smi --gpu-reset."};
  }
  return {false, "DriverError",
          fmt::format("The driver reports for this GPU: {} (NVML {}). Read dmesg for NVRM lines.",
                      nvml::Explain(code), static_cast<int>(code))};
}

Health Hung(std::string_view hang) {
  return {false, "DriverUnresponsive",
          fmt::format("The driver does not respond for this GPU: {}. Read dmesg for NVRM and Xid "
                      "lines; restart the host if it persists.",
                      hang)};
}

Health NotListed() {
  return {false, "GpuLost",
          "The driver no longer reports this GPU, but it is on the PCI bus: read dmesg for Xid "
          "lines, reset the GPU or restart the host."};
}

Health Garbled() {
  return {false, "DriverError",
          "The driver returned invalid data for this GPU: reinstall the driver."};
}

Health NoMinor() {
  return {false, "NoDeviceNode",
          "Cannot determine which /dev/nvidia<N> belongs to this GPU: mount the host's /proc below "
          "--host-root."};
}

std::string Refusal(nvml::Return code) {
  return fmt::format(
      "The driver refuses this GPU: {} (NVML {}). Read dmesg for NVRM and Xid lines of this "
      "address.",
      nvml::Explain(code), static_cast<int>(code));
}

std::optional<nvml::Return> FaultOf(const GpuReading& reading) {
  if (!nvml::IsBenign(reading.result)) {
    return reading.result;
  }
  return reading.gpu.fault ? reading.gpu.fault : reading.nvlinks.fault;
}

// Nothing for one that is destroyed while it is read.
std::optional<MigDevice> MakeMigDevice(const Gpu& gpu, unsigned index,
                                       const probe::MigReport& report, const sys::Root& host) {
  if (!report.uuid || !report.gpu_instance || !report.compute_instance) {
    return std::nullopt;
  }
  MigDevice mig;
  mig.uuid = *report.uuid;
  mig.index = index;
  mig.gpu_instance = *report.gpu_instance;
  mig.compute_instance = *report.compute_instance;
  mig.placement_start = report.placement_start;
  device::MigNaming naming{.driver_name = report.name,
                           .gpu_memory = gpu.memory.value_or(Bytes{}),
                           .profile_id = report.profile_id};
  if (const auto& attributes = report.attributes) {
    mig.gpu_instance_slices = attributes->gpu_instance_slices;
    mig.compute_instance_slices = attributes->compute_instance_slices;
    mig.multiprocessors = attributes->multiprocessors;
    mig.engines = attributes->engines;
    mig.memory = attributes->memory;
    naming.gpu_instance_slices = attributes->gpu_instance_slices;
    naming.compute_instance_slices = attributes->compute_instance_slices;
    naming.ofa_engines = attributes->engines.ofa;
    naming.memory = attributes->memory;
  }
  mig.profile = device::MigProfileName(naming);
  mig.gpu_instance_cap_minor = host::GpuInstanceCapMinor(host, gpu.minor, mig.gpu_instance);
  mig.compute_instance_cap_minor =
      host::ComputeInstanceCapMinor(host, gpu.minor, mig.gpu_instance, mig.compute_instance);
  return mig;
}

void AddMigDevices(const GpuReading& reading, const sys::Root& host, Gpu& gpu) {
  for (const auto& [index, report] : reading.mig_devices) {
    if (auto mig = MakeMigDevice(gpu, index, report, host)) {
      gpu.mig_devices.push_back(*std::move(mig));
    }
  }
  std::ranges::sort(gpu.mig_devices, {}, [](const MigDevice& mig) {
    return std::pair(mig.gpu_instance, mig.compute_instance);
  });
}

// Nothing for a GPU whose name or place the driver cannot tell.
std::optional<Gpu> MakeGpu(unsigned index, const GpuReading& reading, const HostView& view) {
  const probe::GpuReport& report = reading.gpu;
  if (!report.uuid || !report.pci) {
    return std::nullopt;
  }
  const host::PciDevice* pci = view.Find(*report.pci);
  Gpu gpu;
  gpu.uuid = *report.uuid;
  gpu.index = index;
  gpu.pci = *report.pci;
  gpu.pci_vendor_id = report.pci_vendor_id;
  gpu.pci_device_id = report.pci_device_id;
  gpu.pci_class = pci != nullptr ? pci->class_code >> 8 : 0;
  gpu.name = report.name;
  gpu.model = device::ModelId(report.name, report.pci_device_id);
  gpu.architecture = device::ArchitectureName(report.architecture, report.compute);
  gpu.brand = device::BrandName(report.brand);
  gpu.serial = report.serial;
  gpu.vbios = report.vbios;
  gpu.memory = report.memory;
  gpu.usable_memory = report.usable_memory;
  gpu.compute = report.compute;
  gpu.is_ecc_enabled = report.is_ecc_enabled;
  gpu.numa_node = pci != nullptr && pci->numa_node ? pci->numa_node : report.numa_node;
  gpu.mig_mode = report.mig_mode;
  gpu.fabric = report.fabric;
  gpu.nvlinks = reading.nvlinks.links;
  return gpu;
}

void AddPeers(const Reading& reading, std::vector<Gpu>& gpus) {
  for (Gpu& gpu : gpus) {
    const auto& levels = reading.gpus[gpu.index].topology.levels;
    for (const Gpu& peer : gpus) {
      if (&peer == &gpu || peer.index >= levels.size()) {
        continue;
      }
      gpu.peers.push_back({.peer_index = peer.index,
                           .path = device::PciePathOf(levels[peer.index]),
                           .nvlinks = device::NvLinksBetween(gpu, peer)});
    }
    std::ranges::sort(gpu.peers);
  }
}

std::string UnlistedReason(const host::PciDevice& pci, const Obstacle& obstacle,
                           const sys::Root& host) {
  const host::NvrmVersion module = host::ReadLoadedModule(host);
  if (obstacle.verdict.empty() && pci.kernel_driver == "nvidia" && !pci.is_off_bus) {
    const auto minor = MinorFromProc(host, pci.id);
    if (minor && !host.Exists(fmt::format("dev/nvidia{}", *minor))) {
      return fmt::format(
          "Its device node /dev/nvidia{} does not exist here: add it to this container's devices, "
          "or on a host run nvidia-modprobe -c {}.",
          *minor, *minor);
    }
    if (!obstacle.refusal.empty() && !host::MisfitOf(pci.device_id, module)) {
      return obstacle.refusal;
    }
  }
  return host::ExplainUnmanagedGpu(
      pci, {.state = device::DriverState::kReady, .reason = obstacle.verdict}, module);
}

}  // namespace

const host::PciDevice* HostView::Find(const device::PciBusId& id) const {
  const auto found = std::ranges::find(pci, id, &host::PciDevice::id);
  return found == pci.end() ? nullptr : &*found;
}

bool HostView::Shows(const device::PciBusId& id) const {
  return Find(id) != nullptr;
}

HostView ReadHostView(const sys::Root& host) {
  auto pci = host::ScanNvidiaPci(host);
  HostView view;
  view.is_pci_readable = pci.ok();
  if (pci.ok()) {
    view.pci = *std::move(pci);
  }
  view.companions = host::ReadCompanionNodes(host);
  return view;
}

std::optional<unsigned> MinorFromProc(const sys::Root& host, const device::PciBusId& id) {
  const auto text = host.ReadFile(fmt::format("proc/driver/nvidia/gpus/{}/information", id.str()));
  if (!text.ok()) {
    return std::nullopt;
  }
  constexpr std::string_view kKey = "Device Minor:";
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with(kKey)) {
      const auto minor = ParseUint(Trim(line.substr(kKey.size())));
      return minor && *minor < (1U << 20) ? std::optional<unsigned>(*minor) : std::nullopt;
    }
  }
  return std::nullopt;
}

Listed ListGpus(const Reading& reading, const HostView& view, const sys::Root& host) {
  Listed listed;
  std::set<device::GpuUuid> seen;
  std::set<std::string> refusals;
  for (unsigned index = 0; index < reading.gpus.size(); ++index) {
    const GpuReading& answers = reading.gpus[index];
    std::optional<Gpu> made = MakeGpu(index, answers, view);
    if (!made && answers.result == nvml::kErrorGpuIsLost) {
      ++listed.unnamed_lost;
    } else if (!made && !answers.hang.empty()) {
      listed.hung[index] = Hung(answers.hang);
      refusals.insert(Hung("a call did not return within its deadline").message);
    } else if (!made && !nvml::IsBenign(answers.result)) {
      refusals.insert(Refusal(answers.result));
    }
    // Two GPUs of one name would be one device in every view: the first is kept.
    if (!made || !seen.insert(made->uuid).second) {
      continue;
    }
    Gpu gpu = *std::move(made);
    const auto minor = answers.gpu.minor ? answers.gpu.minor : MinorFromProc(host, gpu.pci);
    gpu.minor = minor.value_or(0);
    AddMigDevices(answers, host, gpu);
    if (const auto fault = FaultOf(answers)) {
      listed.faults[gpu.uuid] = Fault(*fault);
    } else if (answers.is_garbled) {
      listed.faults[gpu.uuid] = Garbled();
    } else if (!minor) {
      listed.faults[gpu.uuid] = NoMinor();
    }
    listed.gpus.push_back(std::move(gpu));
  }
  if (refusals.size() == 1) {
    listed.refusal = *refusals.begin();
  }
  AddPeers(reading, listed.gpus);
  std::ranges::sort(listed.gpus, {}, &Gpu::pci);
  return listed;
}

std::vector<Gpu> MergeKnown(const std::vector<Gpu>& known, Listed& listed, const HostView& view) {
  std::vector<Gpu> gpus;
  for (const Gpu& before : known) {
    const auto now = std::ranges::find(listed.gpus, before.uuid, &Gpu::uuid);
    const bool is_listed = now != listed.gpus.end();
    if (view.is_pci_readable && !view.Shows(before.pci) &&
        (!is_listed || listed.faults.contains(before.uuid))) {
      listed.faults.erase(before.uuid);  // gone from the bus: removed, not broken
      if (is_listed) {
        listed.gpus.erase(now);
      }
      continue;
    }
    if (is_listed && !listed.faults.contains(before.uuid)) {
      continue;
    }
    if (is_listed) {
      listed.gpus.erase(now);  // what it said is in part void: its last good values stay
    } else {
      const auto hung = listed.hung.find(before.index);
      listed.faults[before.uuid] = hung != listed.hung.end() ? hung->second : NotListed();
    }
    gpus.push_back(before);
  }
  gpus.insert(gpus.end(), listed.gpus.begin(), listed.gpus.end());
  std::ranges::sort(gpus, {}, &Gpu::pci);
  return gpus;
}

std::vector<device::UnmanagedGpu> Unmanaged(const HostView& view, const std::vector<Gpu>& gpus,
                                            const Obstacle& obstacle, const sys::Root& host) {
  std::vector<device::UnmanagedGpu> unmanaged;
  for (const host::PciDevice& pci : view.pci) {
    if (!pci.is_gpu() || std::ranges::find(gpus, pci.id, &Gpu::pci) != gpus.end()) {
      continue;
    }
    unmanaged.push_back({.pci = pci.id,
                         .pci_device_id = pci.device_id,
                         .pci_class = host::PciClassName(pci.class_code),
                         .kernel_driver = pci.kernel_driver,
                         .reason = UnlistedReason(pci, obstacle, host)});
  }
  std::ranges::sort(unmanaged, {}, &device::UnmanagedGpu::pci);
  return unmanaged;
}

std::set<std::string> Fingerprints(const HostView& view, const sys::Root& host) {
  std::set<std::string> fingerprints;
  for (const host::PciDevice& pci : view.pci) {
    if (!pci.is_gpu()) {
      continue;
    }
    const auto minor = MinorFromProc(host, pci.id);
    const bool has_node = minor && host.Exists(fmt::format("dev/nvidia{}", *minor));
    fingerprints.insert(fmt::format("{} {} {}", pci.id.str(), pci.kernel_driver, has_node));
  }
  return fingerprints;
}

}  // namespace kgpu::inventory
