// Which features are read on a host and which of them become labels. The defaults are those of Node
// Feature Discovery's worker, so that its users get the labels they know.
#pragma once

#include <string>
#include <vector>

namespace kgpu::features {

struct FeatureOptions {
  // Names of sources: cpu, iommu, kernel, memory, network, pci, storage, system, usb, custom; "all"
  // selects all of them, "-NAME" excludes one. The last entry for a name wins.
  std::vector<std::string> feature_sources = {"all"};  // what is read
  std::vector<std::string> label_sources = {"all"};    // which of the sources read become labels

  // CPUID flags that do not become labels; if the second list is not empty, only its flags become
  // labels and the first is ignored. Raw features always have every flag.
  std::vector<std::string> cpuid_denied = {
      "AVX10", "BMI1", "BMI2",   "CLMUL", "CMOV",   "CX16",   "ERMS",   "F16C",     "HTT",
      "LZCNT", "MMX",  "MMXEXT", "NX",    "POPCNT", "RDRAND", "RDSEED", "RDTSCP",   "SGX",
      "SGXLC", "SSE",  "SSE2",   "SSE3",  "SSE4",   "SSE42",  "SSSE3",  "TDX_GUEST"};
  std::vector<std::string> cpuid_allowed;

  // Classes of PCI devices that become labels, as prefixes of the class in four hexadecimal
  // digits, and the parts of their label names: class, vendor, device, subsystem_vendor,
  // subsystem_device.
  std::vector<std::string> pci_classes = {"03", "0b40", "12"};
  std::vector<std::string> pci_label_fields = {"class", "vendor"};

  // The same for USB devices: class, vendor, device, serial.
  std::vector<std::string> usb_classes = {"0e", "ef", "fe", "ff"};
  std::vector<std::string> usb_label_fields = {"class", "vendor", "device"};

  // The kernel's configuration file, below the host's root; empty: where kernels and distributions
  // put it. The options that become labels if they are set, without "CONFIG_".
  std::string kernel_config_file;
  std::vector<std::string> kernel_config_options = {"NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT"};
  // Whether kernel.config has every option (about ten thousand) for rules, or only those above,
  // which saves a megabyte and half a millisecond.
  bool has_whole_kernel_config = true;

  // The cluster's name for this node, for system.name; empty: the feature has no name in it.
  std::string node_name;

  bool operator==(const FeatureOptions&) const = default;
};

}  // namespace kgpu::features
