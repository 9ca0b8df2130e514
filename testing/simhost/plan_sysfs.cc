#include <fmt/format.h>

#include <algorithm>

#include "testing/simhost/cpu_list.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

using device::PciBusId;

constexpr uint16_t kNvidia = 0x10de;

struct PciDevice {
  PciBusId address;
  PciHeader header;
  unsigned numa_node = 0;
  std::string kernel_driver;  // empty: none is bound
  std::optional<unsigned> iommu_group;
  uint64_t bar1_mib = 0;
  bool reads_as_ones = false;
};

std::string_view LinkSpeedText(unsigned generation) {
  constexpr std::string_view kSpeeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",  "8.0 GT/s PCIe",
                                          "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  return kSpeeds[std::clamp(generation, 1U, 6U) - 1];
}

// "../" for each folder of `path`, which is below sys/, up to sys/ itself.
std::string UpToSys(std::string_view path) {
  std::string up;
  for (auto slashes = std::ranges::count(path, '/'); slashes > 0; --slashes) {
    up += "../";
  }
  return up;
}

// Address ranges: "start end flags" for each BAR, zeros for the unused.
std::string ResourceText(const PciDevice& device) {
  std::string text;
  const auto line = [&text](uint64_t start, uint64_t size, uint64_t flags) {
    text +=
        fmt::format("{:#018x} {:#018x} {:#018x}\n", start, size == 0 ? 0 : start + size - 1, flags);
  };
  const uint64_t base = (uint64_t{device.address.bus} + 1) << 40;
  if (device.bar1_mib == 0) {
    line(0, 0, 0);
  } else {
    line(0xb4000000, uint64_t{16} << 20, 0x40200);
    line(base, device.bar1_mib << 20, 0x14220c);
    line(0, 0, 0);
    line(base + (device.bar1_mib << 20), uint64_t{32} << 20, 0x14220c);
  }
  while (std::ranges::count(text, '\n') < 13) {
    line(0, 0, 0);
  }
  return text;
}

std::string ModAlias(const PciHeader& header) {
  return fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02X}", header.vendor,
                     header.device, header.subsystem_vendor, header.subsystem_device,
                     header.class_code >> 16, (header.class_code >> 8) & 0xff,
                     header.class_code & 0xff);
}

class SysfsPlanner {
 public:
  SysfsPlanner(const HostView& host, Tree& tree) : host_(host), tree_(tree) {}

  void Run();

 private:
  // The devices below one port of the root complex: the lowest bus decides its addresses.
  struct Group {
    PciBusId lowest;
    bool has_switch = false;
    unsigned numa_node = 0;
    std::vector<PciBusId> members;
  };

  std::string FolderOf(const Group& group, const PciBusId& address, size_t position);
  std::string AddRootPort(const Group& group, unsigned root_bus);
  std::string AddBridge(const std::string& parent, const PciBusId& address, unsigned numa_node);
  void AddDevice(const std::string& folder, const PciDevice& device);
  void AddFiles(const std::string& folder, const PciDevice& device);
  void AddLinks(const std::string& folder, const PciDevice& device);
  void AddDrm(const std::string& folder, unsigned minor);
  void AddGpus();
  void AddNvSwitches();
  void AddModules();
  void AddNodes();
  Group GroupOf(const GpuView& gpu) const;
  std::string GpuDriver() const;

  const HostView& host_;
  Tree& tree_;
};

std::string SysfsPlanner::GpuDriver() const {
  if (host_.is_nouveau) {
    return "nouveau";
  }
  return host_.module_version.empty() ? "" : "nvidia";
}

// `parent` is the folder of the host bridge or of the bridge above; the bridge is added once.
std::string SysfsPlanner::AddBridge(const std::string& parent, const PciBusId& address,
                                    unsigned numa_node) {
  const std::string folder = fmt::format("{}/{}", parent, address.str());
  PciDevice bridge;
  bridge.address = address;
  bridge.numa_node = numa_node;
  bridge.kernel_driver = "pcieport";
  bridge.header.vendor = 0x1000;
  bridge.header.device = 0xc010;
  bridge.header.class_code = 0x060400;
  bridge.header.revision = 0xb0;
  bridge.header.is_bridge = true;
  AddDevice(folder, bridge);
  return folder;
}

std::string SysfsPlanner::AddRootPort(const Group& group, unsigned root_bus) {
  const PciBusId port{group.lowest.domain, static_cast<uint8_t>(root_bus), 1, 0};
  const std::string complex =
      fmt::format("sys/devices/pci{:04x}:{:02x}", group.lowest.domain, root_bus);
  return AddBridge(complex, port, group.numa_node);
}

// Bus 0 hangs on the host bridge; others on a root port one bus above or, below a PCIe switch,
// three: root port, upstream port, one downstream port for each device.
std::string SysfsPlanner::FolderOf(const Group& group, const PciBusId& address, size_t position) {
  const unsigned lowest = group.lowest.bus;
  if (lowest == 0) {
    return fmt::format("sys/devices/pci{:04x}:00/{}", address.domain, address.str());
  }
  if (!group.has_switch || lowest < 3) {
    return fmt::format("{}/{}", AddRootPort(group, lowest - 1), address.str());
  }
  const std::string root = AddRootPort(group, lowest - 3);
  const PciBusId upstream{address.domain, static_cast<uint8_t>(lowest - 2), 0, 0};
  const PciBusId downstream{address.domain, static_cast<uint8_t>(lowest - 1),
                            static_cast<uint8_t>(position % 32), 0};
  const std::string up = AddBridge(root, upstream, group.numa_node);
  return fmt::format("{}/{}", AddBridge(up, downstream, group.numa_node), address.str());
}

void SysfsPlanner::AddFiles(const std::string& folder, const PciDevice& device) {
  const PciHeader& header = device.header;
  const auto file = [&](std::string_view name, std::string text) {
    tree_.File(fmt::format("{}/{}", folder, name), std::move(text), 0444);
  };
  file("vendor", fmt::format("{:#06x}\n", header.vendor));
  file("device", fmt::format("{:#06x}\n", header.device));
  file("subsystem_vendor", fmt::format("{:#06x}\n", header.subsystem_vendor));
  file("subsystem_device", fmt::format("{:#06x}\n", header.subsystem_device));
  file("class", fmt::format("{:#08x}\n", header.class_code));
  file("revision", fmt::format("{:#04x}\n", header.revision));
  file("modalias", ModAlias(header) + "\n");
  file("numa_node", fmt::format("{}\n", device.numa_node));
  file("enable", "1\n");
  file("irq", "16\n");
  file("resource", ResourceText(device));
  file("config", device.reads_as_ones ? std::string(256, '\xff') : PciConfigSpace(header));
  file("max_link_speed", fmt::format("{}\n", LinkSpeedText(header.generation)));
  file("current_link_speed", fmt::format("{}\n", LinkSpeedText(header.generation)));
  file("max_link_width", fmt::format("{}\n", header.width));
  file("current_link_width", fmt::format("{}\n", header.width));
  if (device.numa_node < host_.numa_cpu_lists.size()) {
    const std::string& cpus = host_.numa_cpu_lists[device.numa_node];
    file("local_cpulist", cpus + "\n");
    file("local_cpus", CpuMask(CpusOf(cpus)) + "\n");
  }
  std::string uevent =
      device.kernel_driver.empty() ? "" : fmt::format("DRIVER={}\n", device.kernel_driver);
  uevent += fmt::format(
      "PCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
      "PCI_SLOT_NAME={}\n",
      header.class_code, header.vendor, header.device, header.subsystem_vendor,
      header.subsystem_device, device.address.str());
  file("uevent", std::move(uevent));
}

void SysfsPlanner::AddLinks(const std::string& folder, const PciDevice& device) {
  const std::string up = UpToSys(folder);
  const std::string name = device.address.str();
  const std::string below_sys = folder.substr(4);
  tree_.Link(folder + "/subsystem", up + "bus/pci");
  tree_.Link("sys/bus/pci/devices/" + name, "../../../" + below_sys);
  if (!device.kernel_driver.empty()) {
    tree_.Link(folder + "/driver", fmt::format("{}bus/pci/drivers/{}", up, device.kernel_driver));
    tree_.Link(fmt::format("sys/bus/pci/drivers/{}/{}", device.kernel_driver, name),
               "../../../../" + below_sys);
  }
  if (device.iommu_group) {
    const std::string group = fmt::format("kernel/iommu_groups/{}", *device.iommu_group);
    tree_.Link(folder + "/iommu_group", up + group);
    tree_.Link(fmt::format("sys/{}/devices/{}", group, name), "../../../../" + below_sys);
  }
}

void SysfsPlanner::AddDevice(const std::string& folder, const PciDevice& device) {
  AddFiles(folder, device);
  AddLinks(folder, device);
}

void SysfsPlanner::AddDrm(const std::string& folder, unsigned minor) {
  const auto add = [&](const std::string& name, unsigned node_minor) {
    const std::string path = fmt::format("{}/drm/{}", folder, name);
    tree_.File(path + "/dev", fmt::format("{}:{}\n", kDrmMajor, node_minor), 0444);
    tree_.File(path + "/uevent",
               fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n", kDrmMajor,
                           node_minor, name),
               0444);
    tree_.Link(path + "/device", "../..");
    tree_.Link("sys/class/drm/" + name, "../../" + path.substr(4));
    tree_.Link(fmt::format("sys/dev/char/{}:{}", kDrmMajor, node_minor), "../../" + path.substr(4));
  };
  add(fmt::format("card{}", minor), minor);
  add(fmt::format("renderD{}", 128 + minor), 128 + minor);
}

SysfsPlanner::Group SysfsPlanner::GroupOf(const GpuView& gpu) const {
  Group group{gpu.pci, gpu.pcie_switch.has_value(), gpu.numa_node, {gpu.pci}};
  if (!gpu.pcie_switch) {
    return group;
  }
  group.members.clear();
  for (const GpuView& other : host_.gpus) {
    if (other.pcie_switch == gpu.pcie_switch) {
      group.members.push_back(other.pci);
      group.lowest = std::min(group.lowest, other.pci);
    }
  }
  std::ranges::sort(group.members);
  return group;
}

void SysfsPlanner::AddGpus() {
  for (const GpuView& gpu : host_.gpus) {
    const Group group = GroupOf(gpu);
    const auto position = std::ranges::find(group.members, gpu.pci) - group.members.begin();
    PciDevice device;
    device.address = gpu.pci;
    device.numa_node = gpu.numa_node;
    device.kernel_driver = GpuDriver();
    device.iommu_group = 20 + gpu.minor;
    device.bar1_mib = gpu.bar1_mib;
    device.reads_as_ones = gpu.has_fallen_off;
    device.header.vendor = kNvidia;
    device.header.device = gpu.pci_device;
    device.header.subsystem_vendor = gpu.pci_subsystem_vendor;
    device.header.subsystem_device = gpu.pci_subsystem_device;
    device.header.class_code = gpu.pci_class;
    device.header.generation = gpu.pcie_generation;
    device.header.width = gpu.pcie_width;
    const std::string folder = FolderOf(group, gpu.pci, static_cast<size_t>(position));
    AddDevice(folder, device);
    if (!device.kernel_driver.empty()) {
      AddDrm(folder, gpu.minor);
    }
  }
}

void SysfsPlanner::AddNvSwitches() {
  Group group;
  group.has_switch = true;
  for (const ProfileSwitch& nvswitch : host_.nvswitches) {
    group.members.push_back(nvswitch.pci);
  }
  std::ranges::sort(group.members);
  for (size_t i = 0; i < host_.nvswitches.size(); ++i) {
    group.lowest = group.members.front();
    const ProfileSwitch& nvswitch = host_.nvswitches[i];
    PciDevice device;
    device.address = nvswitch.pci;
    device.kernel_driver = host_.module_version.empty() ? "" : "nvidia-nvswitch";
    device.iommu_group = 100 + static_cast<unsigned>(i);
    device.header.vendor = kNvidia;
    device.header.device = nvswitch.pci_device;
    device.header.subsystem_vendor = kNvidia;
    device.header.class_code = 0x068000;
    device.header.width = 2;
    AddDevice(FolderOf(group, nvswitch.pci, i), device);
  }
}

void SysfsPlanner::AddModules() {
  if (host_.is_nouveau) {
    tree_.File("sys/module/nouveau/initstate", "live\n", 0444);
  }
  if (host_.module_version.empty()) {
    return;
  }
  for (const std::string_view name : {"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"}) {
    const std::string folder = fmt::format("sys/module/{}", name);
    tree_.File(folder + "/version", host_.module_version + "\n", 0444);
    tree_.File(folder + "/initstate", "live\n", 0444);
    tree_.File(folder + "/refcnt", name == "nvidia" ? "155\n" : "0\n", 0444);
    tree_.File(folder + "/taint", host_.is_module_open ? "OE\n" : "POE\n", 0444);
  }
  tree_.Link("sys/bus/pci/drivers/nvidia/module", "../../../../module/nvidia");
}

void SysfsPlanner::AddNodes() {
  const size_t count = host_.numa_cpu_lists.size();
  const std::string all = count == 1 ? "0\n" : fmt::format("0-{}\n", count - 1);
  for (const std::string_view name : {"online", "possible", "has_cpu", "has_memory"}) {
    tree_.File(fmt::format("sys/devices/system/node/{}", name), all, 0444);
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string folder = fmt::format("sys/devices/system/node/node{}", i);
    tree_.File(folder + "/cpulist", host_.numa_cpu_lists[i] + "\n", 0444);
    tree_.File(folder + "/cpumap", CpuMask(CpusOf(host_.numa_cpu_lists[i])) + "\n", 0444);
    tree_.File(folder + "/meminfo",
               fmt::format("Node {0} MemTotal:       131072000 kB\n"
                           "Node {0} MemFree:        120000000 kB\n",
                           i),
               0444);
    std::string distance;
    for (size_t other = 0; other < count; ++other) {
      distance += fmt::format("{}{}", other == 0 ? "" : " ", other == i ? 10 : 20);
    }
    tree_.File(folder + "/distance", distance + "\n", 0444);
  }
}

void SysfsPlanner::Run() {
  tree_.Folder("sys/bus/pci/devices");
  tree_.Folder("sys/class/drm");
  AddGpus();
  AddNvSwitches();
  AddModules();
  AddNodes();
}

}  // namespace

void PlanSysfs(const HostView& host, Tree& tree) {
  SysfsPlanner(host, tree).Run();
}

}  // namespace kgpu::simhost
