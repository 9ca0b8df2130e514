// What is looked for on a host and which of it becomes labels. The defaults are those of Node
// Feature Discovery's worker, so that its users find the labels they have.
#pragma once

#include <string>
#include <vector>

namespace kgpu::features {

struct FeatureOptions {
  // Names of sources: cpu, iommu, kernel, memory, network, pci, storage, system, usb, custom; "all"
  // means each of them, "-NAME" takes one out. The last word on a name counts.
  std::vector<std::string> feature_sources = {"all"};  // what is read
  std::vector<std::string> label_sources = {"all"};    // of what was read: what becomes labels

  // CPUID flags that do not become labels; when the second list is not empty it alone counts: only
  // its flags do. Raw features have every flag in any case.
  std::vector<std::string> cpuid_denied = {
      "AVX10", "BMI1", "BMI2",   "CLMUL", "CMOV",   "CX16",   "ERMS",   "F16C",     "HTT",
      "LZCNT", "MMX",  "MMXEXT", "NX",    "POPCNT", "RDRAND", "RDSEED", "RDTSCP",   "SGX",
      "SGXLC", "SSE",  "SSE2",   "SSE3",  "SSE4",   "SSE42",  "SSSE3",  "TDX_GUEST"};
  std::vector<std::string> cpuid_allowed;

  // Classes of PCI devices that become labels, as prefixes of the class in four hexadecimal digits,
  // and what their labels' names are made of: class, vendor, device, subsystem_vendor,
  // subsystem_device.
  std::vector<std::string> pci_classes = {"03", "0b40", "12"};
  std::vector<std::string> pci_label_fields = {"class", "vendor"};

  // The same of USB devices: class, vendor, device, serial.
  std::vector<std::string> usb_classes = {"0e", "ef", "fe", "ff"};
  std::vector<std::string> usb_label_fields = {"class", "vendor", "device"};

  // The kernel's configuration, below the host's root; empty: where kernels and distributions keep
  // it. Options that become labels when they are set, without "CONFIG_".
  std::string kernel_config_file;
  std::vector<std::string> kernel_config_options = {"NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT"};
  // Whether kernel.config has every option, some ten thousand, for rules, or only those above: a
  // megabyte and half a millisecond less.
  bool has_whole_kernel_config = true;

  // What the cluster calls this node, for system.name; empty: the feature has no name in it.
  std::string node_name;

  bool operator==(const FeatureOptions&) const = default;
};

}  // namespace kgpu::features
