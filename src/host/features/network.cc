// Network interfaces: those of a device, and the kernel's own. Source: /sys/class/net
// (Documentation/ABI/testing/sysfs-class-net), which shows the network namespace that sysfs was
// mounted in.
#include <array>

#include "src/host/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kInterfaces = "sys/class/net";
constexpr std::array kDeviceAttributes = {"sriov_numvfs", "sriov_totalvfs"};
constexpr std::array kNetworkAttributes = {"operstate", "speed", "mtu"};
// Not an interface but a control file of the bonding driver.
constexpr std::string_view kBondingControl = "bonding_masters";

template <size_t N>
void AddAll(const Source& source, const Folder& folder,
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
  const Folder net = Folder::Open(source.host, kInterfaces);
  for (const std::string& name : source.List(kInterfaces)) {
    if (name == kBondingControl) {
      continue;
    }
    const Folder folder = net.OpenEntry(source.host, name);
    if (!folder.is_open()) {
      source.ComplainOf(folder.path(), folder.error());  // silent when it has gone meanwhile
      continue;
    }
    Attributes interface = {{"name", name}};
    AddAll(source, folder, kNetworkAttributes, interface);
    if (!folder.Has("device")) {
      others.push_back(std::move(interface));
      continue;
    }
    const Folder device = Folder::Open(source.host, folder.path() + "/device");
    AddAll(source, device, kDeviceAttributes, interface);
    devices.push_back(std::move(interface));
  }
}

}  // namespace kgpu::features
