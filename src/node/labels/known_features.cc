#include "src/node/labels/known_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

struct KnownFeature {
  std::string_view name;
  std::string_view elements;  // separated by blanks; empty: they depend on the host
};

constexpr std::array kFeatures = {
    KnownFeature{"cpu.cpuid", ""},
    KnownFeature{"cpu.model", "vendor_id family id hypervisor"},
    KnownFeature{"cpu.cstate", "enabled"},
    KnownFeature{"cpu.pstate", "status turbo scaling_governor"},
    KnownFeature{"cpu.rdt", ""},
    KnownFeature{"cpu.sst", "bf.enabled"},
    KnownFeature{"cpu.coprocessor", "nx_gzip"},
    KnownFeature{"cpu.security",
                 "sgx.enabled sgx.epc se.enabled tdx.enabled tdx.protected tdx.total_keys "
                 "sev.enabled sev.asids sev.es.enabled sev.encrypted_state_ids sev.snp.enabled"},
    KnownFeature{"cpu.topology", "hardware_multithreading socket_count cpu_atom cpu_core"},
    KnownFeature{"kernel.config", ""},
    KnownFeature{"kernel.loadedmodule", ""},
    KnownFeature{"kernel.enabledmodule", ""},
    KnownFeature{"kernel.selinux", "enabled"},
    KnownFeature{"kernel.kvm", "enabled"},
    KnownFeature{"kernel.version", "full major minor revision"},
    KnownFeature{"memory.numa", "is_numa node_count"},
    KnownFeature{"memory.swap", "enabled"},
    KnownFeature{"memory.hugepages", ""},
    KnownFeature{"memory.nv", "name devtype mode"},
    KnownFeature{"network.device", "name operstate speed mtu sriov_numvfs sriov_totalvfs"},
    KnownFeature{"network.virtual", "name operstate speed mtu"},
    KnownFeature{"pci.device",
                 "class vendor device subsystem_vendor subsystem_device sriov_totalvfs "
                 "iommu_group/type iommu/intel-iommu/version"},
    KnownFeature{"usb.device", "class vendor device serial"},
    KnownFeature{"storage.block", "name dax rotational nr_zones zoned"},
    KnownFeature{"system.osrelease", ""},
    KnownFeature{"system.dmiid",
                 "bios_date bios_vendor bios_version board_asset_tag board_name board_vendor "
                 "board_version chassis_asset_tag chassis_type chassis_vendor chassis_version "
                 "product_family product_name product_sku product_version sys_vendor"},
    KnownFeature{"system.name", "nodename"},
    KnownFeature{"iommu.device", "enabled"},
    KnownFeature{"local.label", ""},
    KnownFeature{"local.feature", ""},
    KnownFeature{"rule.matched", ""},
};

const KnownFeature* Find(std::string_view feature) {
  const auto* found = std::ranges::find(kFeatures, ToLower(feature), &KnownFeature::name);
  return found == kFeatures.end() ? nullptr : found;
}

std::string OneOf(std::string_view name, const std::vector<std::string_view>& known) {
  const auto nearest = Nearest(name, known);
  return nearest ? fmt::format("did you mean {}?", *nearest)
                 : fmt::format("known are {}", fmt::join(known, ", "));
}

}  // namespace

std::string HintOnFeature(std::string_view feature) {
  if (Find(feature) != nullptr) {
    return "";
  }
  std::vector<std::string_view> names;
  names.reserve(kFeatures.size());
  for (const KnownFeature& known : kFeatures) {
    names.push_back(known.name);
  }
  return fmt::format("no source has the feature {}, unless a NodeFeature object brings it: {}",
                     Printable(feature, 60), OneOf(ToLower(feature), names));
}

std::string HintOnElement(std::string_view feature, std::string_view element) {
  const KnownFeature* known = Find(feature);
  if (known == nullptr || known->elements.empty()) {
    return "";
  }
  const std::vector<std::string_view> elements = Words(known->elements);
  if (std::ranges::find(elements, element) != elements.end()) {
    return "";
  }
  return fmt::format("{} never has {}: {}", known->name, Printable(element, 60),
                     OneOf(element, elements));
}

}  // namespace kgpu::labels
