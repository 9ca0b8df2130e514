// USB devices by class. Source: /sys/bus/usb/devices (Documentation/ABI/testing/sysfs-bus-usb); a
// device of class 00 has the classes of its interfaces, which stand beside it as "<device>:<n>".
#include <array>
#include <utility>

#include "src/host/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kUsbDevices = "sys/bus/usb/devices";
constexpr std::string_view kClassPerInterface = "00";

// NFD's name of an attribute and its name in sysfs.
constexpr std::array<std::pair<const char*, const char*>, 4> kUsbAttributes = {
    {{"class", "bDeviceClass"},
     {"device", "idProduct"},
     {"vendor", "idVendor"},
     {"serial", "serial"}}};

Attributes ReadDevice(const Folder& folder) {
  Attributes device;
  for (const auto& [name, file] : kUsbAttributes) {
    if (std::optional<std::string> text = folder.Text(file); text && !text->empty()) {
      device.emplace(name, *std::move(text));
    }
  }
  return device;
}

}  // namespace

void ReadUsb(const Source& source) {
  Instances& devices = source.instances("usb.device");
  const Folder bus = Folder::Open(source.host, kUsbDevices);
  const std::vector<std::string> names = source.List(kUsbDevices);
  for (const std::string& name : names) {
    if (name.find(':') != std::string::npos) {
      continue;
    }
    const Folder folder = bus.OpenEntry(source.host, name);
    Attributes device = ReadDevice(folder);
    if (!device.contains("device")) {
      continue;
    }
    const auto usb_class = device.find("class");
    if (usb_class == device.end() || usb_class->second != kClassPerInterface) {
      devices.push_back(std::move(device));
      continue;
    }
    const std::string prefix = name + ":";
    for (const std::string& interface : names) {
      if (interface.starts_with(prefix)) {
        const Folder below = bus.OpenEntry(source.host, interface);
        if (std::optional<std::string> text = below.Text("bInterfaceClass")) {
          usb_class->second = *std::move(text);
          devices.push_back(device);
        }
      }
    }
  }
}

}  // namespace kgpu::features
