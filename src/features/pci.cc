// Every function on the PCI bus. Source: /sys/bus/pci/devices
// (Documentation/ABI/testing/sysfs-bus-pci). The ids come from uevent: one file for five, and
// unlike configuration space it does not wake a device that sleeps.
#include <array>
#include <map>
#include <utility>

#include "src/features/pci_uevent.h"
#include "src/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kDevices = "sys/bus/pci/devices";
constexpr size_t kClassDigits = 4;  // without the programming interface

constexpr std::array kIds = {"class", "vendor", "device", "subsystem_vendor", "subsystem_device"};

// "0x030200\n" as NFD has it: "0302".
std::string IdDigits(std::string_view name, std::string text) {
  if (text.starts_with("0x")) {
    text.erase(0, 2);
  }
  if (name == "class" && text.size() > kClassDigits) {
    text.resize(kClassDigits);
  }
  return text;
}

// Many functions share an IOMMU group's type and an IOMMU's version: each is read once.
class IommuFacts {
 public:
  explicit IommuFacts(const Source& source) : source_(source) {}

  const std::optional<std::string>& GroupType(const std::string& group) {
    return Cached(group_types_, group, fmt::format("sys/kernel/iommu_groups/{}/type", group));
  }
  const std::optional<std::string>& Version(const std::string& iommu) {
    return Cached(versions_, iommu, fmt::format("sys/class/iommu/{}/intel-iommu/version", iommu));
  }

 private:
  using Known = std::map<std::string, std::optional<std::string>>;

  const std::optional<std::string>& Cached(Known& known, const std::string& name,
                                           const std::string& path) {
    const auto [at, is_new] = known.try_emplace(name);
    if (is_new) {
      at->second = source_.Text(path);
    }
    return at->second;
  }

  const Source& source_;
  Known group_types_;
  Known versions_;
};

std::optional<Attributes> ReadIds(const Source& source, const Folder& folder) {
  if (const std::optional<std::string> text = folder.Text("uevent")) {
    if (std::optional<PciIds> ids = ParsePciUevent(*text)) {
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
      source.Complain("{}/{}: {}; the device is left out", source.host.At(folder.path()), name,
                      file.is_missing() ? "is missing" : "can not be read");
      return std::nullopt;
    }
    ids.emplace(name, IdDigits(name, std::move(file.text)));
  }
  return ids;
}

void ReadOptional(const Folder& folder, IommuFacts& iommus, Attributes& device) {
  if (std::optional<std::string> vfs = folder.Text("sriov_totalvfs")) {
    device.emplace("sriov_totalvfs", *std::move(vfs));
  }
  const std::optional<std::string> group = folder.LinkName("iommu_group");
  if (!group) {
    return;  // no IOMMU translates for it: it has none of the rest either
  }
  if (const std::optional<std::string>& type = iommus.GroupType(*group)) {
    device.emplace("iommu_group/type", *type);
  }
  if (const std::optional<std::string> iommu = folder.LinkName("iommu")) {
    if (const std::optional<std::string>& version = iommus.Version(*iommu)) {
      device.emplace("iommu/intel-iommu/version", *version);
    }
  }
}

}  // namespace

void ReadPci(const Source& source) {
  Instances& devices = source.instances("pci.device");
  IommuFacts iommus(source);
  for (const std::string& name : source.List(kDevices)) {
    const Folder folder = Folder::Open(source.host, fmt::format("{}/{}", kDevices, name));
    if (!folder.is_open()) {
      source.ComplainOf(folder.path(), folder.error());  // silent when it was pulled meanwhile
      continue;
    }
    std::optional<Attributes> device = ReadIds(source, folder);
    if (device) {
      ReadOptional(folder, iommus, *device);
      devices.push_back(*std::move(device));
    }
  }
}

}  // namespace kgpu::features
