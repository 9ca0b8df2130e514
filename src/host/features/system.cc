// The operating system, the board and the node's name. Sources: os-release(5), /sys/class/dmi/id
// (Documentation/ABI/testing/sysfs-firmware-dmi-tables): only what everybody may read, so no serial
// numbers and no UUID.
#include <array>

#include "src/host/facts/os_release.h"
#include "src/host/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kDmi = "sys/devices/virtual/dmi/id";

constexpr std::array kDmiNames = {
    "bios_date",    "bios_vendor",    "bios_version",    "board_asset_tag",
    "board_name",   "board_vendor",   "board_version",   "chassis_asset_tag",
    "chassis_type", "chassis_vendor", "chassis_version", "product_family",
    "product_name", "product_sku",    "product_version", "sys_vendor"};

void ReadOsRelease(const Source& source) {
  const StatusOr<std::string> text = host::ReadOsRelease(source.host);
  if (text.ok()) {
    source.attributes("system.osrelease") = host::ParseOsRelease(*text);
  } else {
    source.Complain("{}: mount the host's files below the root", Message(text.status()));
  }
}

void ReadDmi(const Source& source) {
  const Folder folder = Folder::Open(source.host, kDmi);
  if (!folder.is_open()) {
    source.ComplainOf(kDmi, folder.error());
    return;  // virtual machines and Arm boards may have none
  }
  Attributes found;
  for (const char* name : kDmiNames) {
    FileText file = folder.Read(name);
    if (file.ok()) {
      found.emplace(name, std::move(file.text));
    } else {
      source.ComplainOf(fmt::format("{}/{}", kDmi, name), file.error);
    }
  }
  if (!found.empty()) {
    source.attributes("system.dmiid") = std::move(found);
  }
}

}  // namespace

void ReadSystem(const Source& source) {
  Attributes& name = source.attributes("system.name");
  if (!source.options.node_name.empty()) {
    name["nodename"] = source.options.node_name;
  }
  ReadOsRelease(source);
  ReadDmi(source);
}

}  // namespace kgpu::features
