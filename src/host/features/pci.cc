// Every function on the PCI bus. Source: /sys/bus/pci/devices
// (Documentation/ABI/testing/sysfs-bus-pci). The ids come from uevent: one file for five, and
// unlike configuration space it does not wake a device that sleeps.
#include <array>
#include <map>
#include <utility>

#include "src/host/features/pci_uevent.h"
#include "src/host/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kPciDevices = "sys/bus/pci/devices";
constexpr std::string_view kBridge = "06";
constexpr size_t kClassDigits = 4;  // without the programming interface

constexpr std::array kIds = {"class", "vendor", "device", "subsystem_vendor", "subsystem_device"};

// "0x030200\n" in NFD's form: "0302".
std::string IdDigits(std::string_view name, std::string text) {
  if (text.starts_with("0x")) {
    text.erase(0, 2);
  }
  if (name == "class" && text.size() > kClassDigits) {
    text.resize(kClassDigits);
  }
  return text;
}

std::optional<Attributes> ReadIds(const Source& source, const Folder& folder) {
  if (const FileText file = folder.Read("uevent"); file.ok()) {
    if (std::optional<PciIds> ids = ParsePciUevent(file.text)) {
      return Attributes{{"class", std::move(ids->pci_class)},
                        {"vendor", std::move(ids->vendor)},
                        {"device", std::move(ids->device)},
                        {"subsystem_vendor", std::move(ids->subsystem_vendor)},
                        {"subsystem_device", std::move(ids->subsystem_device)}};
    }
  }
  Attributes ids;
  for (const char* name : kIds) {
    FileText file = folder.Read(name);
    if (!file.ok()) {
      source.Complain("{}/{}: {}; the device is skipped", source.host.At(folder.path()), name,
                      file.is_missing() ? "is missing" : "cannot be read");
      return std::nullopt;
    }
    ids.emplace(name, IdDigits(name, std::move(file.text)));
  }
  return ids;
}

// What the host's IOMMUs say about its PCI functions.
class Iommus {
 public:
  explicit Iommus(const Source& source)
      : groups_(Folder::Open(source.host, "sys/kernel/iommu_groups")), source_(source) {
    // Only Intel's IOMMUs, which are called dmar<n>, tell their version.
    for (const std::string& name : source.List("sys/class/iommu")) {
      has_intel_ = has_intel_ || name.starts_with("dmar");
    }
  }

  void Read(const Folder& folder, Attributes& device) {
    const std::optional<std::string> group =
        groups_.is_open() ? folder.LinkName("iommu_group") : std::nullopt;
    if (!group) {
      return;  // no IOMMU translates for it: it has none of the rest either
    }
    if (std::optional<std::string> type = groups_.Text((*group + "/type").c_str())) {
      device.emplace("iommu_group/type", *std::move(type));
    }
    const std::optional<std::string> iommu = has_intel_ ? folder.LinkName("iommu") : std::nullopt;
    if (!iommu) {
      return;
    }
    if (const std::string& version = Version(*iommu); !version.empty()) {
      device.emplace("iommu/intel-iommu/version", version);
    }
  }

 private:
  // Empty for one without a version. Many functions share an IOMMU: each is read once.
  const std::string& Version(const std::string& iommu) {
    const auto [at, is_new] = versions_.try_emplace(iommu);
    if (is_new) {
      at->second =
          source_.Text(fmt::format("sys/class/iommu/{}/intel-iommu/version", iommu)).value_or("");
    }
    return at->second;
  }

  Folder groups_;
  const Source& source_;
  bool has_intel_ = false;
  std::map<std::string, std::string> versions_;
};

}  // namespace

void ReadPci(const Source& source) {
  Instances& devices = source.instances("pci.device");
  Iommus iommus(source);
  const Folder bus = Folder::Open(source.host, kPciDevices);
  for (const std::string& name : source.List(kPciDevices)) {
    const Folder folder = bus.OpenEntry(source.host, name);
    if (!folder.is_open()) {
      source.ComplainOf(folder.path(), folder.error());  // silent when it was pulled meanwhile
      continue;
    }
    std::optional<Attributes> device = ReadIds(source, folder);
    if (!device) {
      continue;
    }
    // No bridge can have virtual functions, and a server has many.
    std::optional<std::string> functions =
        device->at("class").starts_with(kBridge) ? std::nullopt : folder.Text("sriov_totalvfs");
    if (functions) {
      device->emplace("sriov_totalvfs", *std::move(functions));
    }
    iommus.Read(folder, *device);
    devices.push_back(*std::move(device));
  }
}

}  // namespace kgpu::features
