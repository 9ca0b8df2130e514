// NFD's default labels out of raw features: which of them, under which names, with which values.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "src/host/features/finder.h"
#include "src/host/features/label_text.h"
#include "src/host/features/read.h"
#include "src/host/features/sources.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr std::string_view kNamespace = "feature.node.kubernetes.io/";

// Labels of one source. Names are given without the namespace and without the source's name.
class LabelWriter {
 public:
  LabelWriter(std::string_view source, std::string_view prefix,
              std::map<std::string, std::string>& labels, std::vector<Problem>* problems)
      : source_(source), prefix_(prefix), labels_(labels), problems_(problems) {}

  void Add(std::string_view name, std::string_view value = "true") const {
    std::string key = fmt::format("{}{}{}", kNamespace, prefix_, name);
    const bool is_key = IsLabelKey(key);
    if (is_key && IsLabelValue(value)) {
      labels_.insert_or_assign(std::move(key), std::string(value));
      return;
    }
    if (problems_ != nullptr) {
      problems_->push_back(
          {std::string(source_),
           fmt::format("label {}={} is skipped: Kubernetes accepts {} of at most 63 letters, "
                       "digits, \"-\", \"_\" and \".\"",
                       Printable(key), Printable(value), is_key ? "values" : "names")});
    }
  }
  // Every attribute as "<name><attribute>".
  void AddAll(std::string_view name, const Attributes& attributes) const {
    for (const auto& [attribute, value] : attributes) {
      Add(fmt::format("{}{}", name, attribute), value);
    }
  }

 private:
  std::string_view source_;
  std::string_view prefix_;
  std::map<std::string, std::string>& labels_;
  std::vector<Problem>* problems_;
};

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

void LabelCpu(const Finder& found, const FeatureOptions& options, const LabelWriter& out) {
  // These are amounts, for rules that make extended resources of them.
  constexpr std::array kAmounts = std::to_array<std::string_view>(
      {"sev.asids", "sev.encrypted_state_ids", "sgx.epc", "tdx.total_keys"});
  for (const std::string& flag : found.flags("cpu.cpuid")) {
    const bool is_wanted = options.cpuid_allowed.empty() ? !Contains(options.cpuid_denied, flag)
                                                         : Contains(options.cpuid_allowed, flag);
    if (is_wanted) {
      out.Add("cpuid." + flag);
    }
  }
  out.AddAll("cpuid.", found.attributes("cpu.cpuid"));
  out.AddAll("model.", found.attributes("cpu.model"));
  out.AddAll("cstate.", found.attributes("cpu.cstate"));
  out.AddAll("pstate.", found.attributes("cpu.pstate"));
  for (const auto& [name, value] : found.attributes("cpu.security")) {
    if (std::ranges::find(kAmounts, name) == kAmounts.end()) {
      out.Add("security." + name, value);
    }
  }
  out.AddAll("power.sst_", found.attributes("cpu.sst"));
  for (const auto& [name, value] : found.attributes("cpu.topology")) {
    if (name != "socket_count") {
      out.Add(name, value);
    }
  }
  out.AddAll("coprocessor.", found.attributes("cpu.coprocessor"));
}

void LabelIommu(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  if (found.IsTrue("iommu.device", "enabled")) {
    out.Add("enabled");
  }
}

void LabelKernel(const Finder& found, const FeatureOptions& options, const LabelWriter& out) {
  out.AddAll("version.", found.attributes("kernel.version"));
  const Attributes& config = found.attributes("kernel.config");
  for (const std::string& option : options.kernel_config_options) {
    if (const auto set = config.find(option); set != config.end()) {
      const bool is_in = set->second == "y" || set->second == "m";
      out.Add("config." + option, is_in ? "true" : set->second);
    }
  }
  if (found.IsTrue("kernel.selinux", "enabled")) {
    out.Add("selinux.enabled");
  }
}

void LabelMemory(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  if (found.IsTrue("memory.numa", "is_numa")) {
    out.Add("numa");
  }
  if (found.IsTrue("memory.swap", "enabled")) {
    out.Add("swap");
  }
  const Instances& devices = found.instances("memory.nv");
  if (!devices.empty()) {
    out.Add("nv.present");
  }
  const auto is_dax = [](const Attributes& device) {
    const auto type = device.find("devtype");
    return type != device.end() && type->second == "nd_dax";
  };
  if (std::ranges::any_of(devices, is_dax)) {
    out.Add("nv.dax");
  }
}

void LabelNetwork(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  const auto any_above_zero = [&](const char* attribute) {
    return std::ranges::any_of(found.instances("network.device"), [&](const Attributes& device) {
      const auto count = device.find(attribute);
      return count != device.end() && ParseUint(count->second).value_or(0) > 0;
    });
  };
  if (any_above_zero("sriov_totalvfs")) {
    out.Add("sriov.capable");
  }
  if (any_above_zero("sriov_numvfs")) {
    out.Add("sriov.configured");
  }
}

// The parts of the names of a bus' labels, in the order of `known`; the defaults if none of
// `wanted` is known.
template <size_t N>
std::vector<std::string_view> NameFields(const std::array<std::string_view, N>& known,
                                         const std::vector<std::string>& wanted,
                                         const std::vector<std::string_view>& defaults) {
  std::vector<std::string_view> fields;
  std::ranges::copy_if(known, std::back_inserter(fields),
                       [&](std::string_view field) { return Contains(wanted, field); });
  return fields.empty() ? defaults : fields;
}

// "0302_10de", or nothing when the device's class is not one of `classes`.
std::optional<std::string> DeviceName(const Attributes& device,
                                      const std::vector<std::string>& classes,
                                      const std::vector<std::string_view>& fields) {
  const auto text = [&](std::string_view name) {
    const auto found = device.find(std::string(name));
    return found == device.end() ? std::string_view() : std::string_view(found->second);
  };
  const bool is_wanted = std::ranges::any_of(classes, [&](const std::string& prefix) {
    return text("class").starts_with(ToLower(prefix));
  });
  if (!is_wanted) {
    return std::nullopt;
  }
  std::string name;
  for (const std::string_view field : fields) {
    fmt::format_to(std::back_inserter(name), "{}{}", name.empty() ? "" : "_", text(field));
  }
  return name;
}

void LabelPci(const Finder& found, const FeatureOptions& options, const LabelWriter& out) {
  static constexpr std::array kFields = std::to_array<std::string_view>(
      {"class", "vendor", "device", "subsystem_vendor", "subsystem_device"});
  const auto fields = NameFields(kFields, options.pci_label_fields, {"class", "vendor"});
  for (const Attributes& device : found.instances("pci.device")) {
    if (const auto name = DeviceName(device, options.pci_classes, fields)) {
      out.Add(*name + ".present");
      if (device.contains("sriov_totalvfs")) {
        out.Add(*name + ".sriov.capable");
      }
    }
  }
}

void LabelUsb(const Finder& found, const FeatureOptions& options, const LabelWriter& out) {
  static constexpr std::array kFields =
      std::to_array<std::string_view>({"class", "vendor", "device", "serial"});
  const auto fields = NameFields(kFields, options.usb_label_fields, {"class", "vendor", "device"});
  for (const Attributes& device : found.instances("usb.device")) {
    if (const auto name = DeviceName(device, options.usb_classes, fields)) {
      out.Add(*name + ".present");
    }
  }
}

void LabelStorage(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  const auto is_still = [](const Attributes& device) {
    const auto rotational = device.find("rotational");
    return rotational != device.end() && rotational->second == "0";
  };
  if (std::ranges::any_of(found.instances("storage.block"), is_still)) {
    out.Add("nonrotationaldisk");
  }
}

void LabelSystem(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  // The last three are in the os-release of Red Hat's CoreOS alone; its NFD publishes them, and the
  // choice of a driver image depends on them.
  constexpr std::array kNames =
      std::to_array<std::string_view>({"ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor",
                                       "OPENSHIFT_VERSION", "OSTREE_VERSION", "RHEL_VERSION"});
  const Attributes& release = found.attributes("system.osrelease");
  for (const std::string_view name : kNames) {
    if (const auto value = release.find(std::string(name)); value != release.end()) {
      out.Add(fmt::format("os_release.{}", name), value->second);
    }
  }
}

// NFD's two built-in rules. Its program publishes them without "custom-", its documentation names
// them with it, as older releases did: both are there, since selectors of both kinds are.
void LabelCustom(const Finder& found, const FeatureOptions& /*options*/, const LabelWriter& out) {
  constexpr std::string_view kMellanox = "15b3";
  const auto is_mellanox = [&](const Attributes& device) {
    const auto vendor = device.find("vendor");
    return vendor != device.end() && vendor->second == kMellanox;
  };
  const auto add = [&](std::string_view name) {
    out.Add(name);
    out.Add(fmt::format("custom-{}", name));
  };
  if (std::ranges::any_of(found.instances("pci.device"), is_mellanox)) {
    add("rdma.capable");
  }
  const Flags& modules = found.flags("kernel.loadedmodule");
  if (modules.contains("ib_uverbs") && modules.contains("rdma_ucm")) {
    add("rdma.available");
  }
}

struct Labeller {
  std::string_view source;
  std::string_view prefix;
  void (*add)(const Finder&, const FeatureOptions&, const LabelWriter&);
};

constexpr std::array kLabellers = std::to_array<Labeller>({
    {"cpu", "cpu-", LabelCpu},
    {"iommu", "iommu-", LabelIommu},
    {"kernel", "kernel-", LabelKernel},
    {"memory", "memory-", LabelMemory},
    {"network", "network-", LabelNetwork},
    {"pci", "pci-", LabelPci},
    {"storage", "storage-", LabelStorage},
    {"system", "system-", LabelSystem},
    {"usb", "usb-", LabelUsb},
    {"custom", "", LabelCustom},
});

}  // namespace

std::map<std::string, std::string> FeatureLabels(const FeatureSet& features,
                                                 const FeatureOptions& options,
                                                 std::vector<Problem>* problems) {
  std::map<std::string, std::string> labels;
  const Finder found(features);
  for (const auto& [source, prefix, add] : kLabellers) {
    if (IsSourceWanted(options.label_sources, source)) {
      add(found, options, LabelWriter(source, prefix, labels, problems));
    }
  }
  return labels;
}

}  // namespace kgpu::features
