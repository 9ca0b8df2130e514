// Network interfaces: those of a device, and the kernel's own. Source: /sys/class/net
// (Documentation/ABI/testing/sysfs-class-net), which shows the network namespace that sysfs was
// mounted in.
#include <array>

#include "src/features/source.h"

namespace kgpu::features {
namespace {

constexpr std::array kAttributes = {"operstate", "speed", "mtu"};
constexpr std::array kDeviceAttributes = {"sriov_numvfs", "sriov_totalvfs"};
// Not an interface but a control file of the bonding driver.
constexpr std::string_view kBondingControl = "bonding_masters";

template <size_t N>
void ReadAll(const Source& source, const Folder& folder,
             const std::array<const char*, N>& attributes, Attributes& out) {
  for (const char* attribute : attributes) {
    FileText file = folder.Read(attribute);
    if (file.ok()) {
      out.emplace(attribute, std::move(file.text));
    } else if (file.error != EINVAL) {  // the kernel's word for the speed of a link that is down
      source.ComplainOf(fmt::format("{}/{}", folder.path(), attribute), file.error);
    }
  }
}

}  // namespace

void ReadNetwork(const Source& source) {
  Instances& devices = source.instances("network.device");
  Instances& others = source.instances("network.virtual");
  for (const std::string& name : source.List("sys/class/net")) {
    if (name == kBondingControl) {
      continue;
    }
    const std::string path = fmt::format("sys/class/net/{}", name);
    const Folder folder = Folder::Open(source.host, path);
    if (!folder.is_open()) {
      source.ComplainOf(path, folder.error());  // silent when the interface has gone meanwhile
      continue;
    }
    Attributes interface = {{"name", name}};
    ReadAll(source, folder, kAttributes, interface);
    const Folder device = Folder::Open(source.host, path + "/device");
    if (device.is_open()) {
      ReadAll(source, device, kDeviceAttributes, interface);
      devices.push_back(std::move(interface));
    } else {
      others.push_back(std::move(interface));
    }
  }
}

}  // namespace kgpu::features
