#include "src/gpu/device/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::device {
namespace {

// A label value's limit in Kubernetes.
constexpr size_t kMaxModelId = 63;

struct ModelEntry {
  uint16_t pci_device_id;
  std::string_view model;
};

// Models for compute, by PCI device id, sorted. Source: the PCI ID database, NVIDIA's list of
// supported products in the driver's README (appendix A).
constexpr std::array kModels = {
    ModelEntry{0x102d, "K80"},
    ModelEntry{0x13bb, "Quadro-K620"},
    ModelEntry{0x13bd, "M10"},
    ModelEntry{0x13f2, "M60"},
    ModelEntry{0x15f7, "P100-PCIE-12GB"},
    ModelEntry{0x15f8, "P100-PCIE-16GB"},
    ModelEntry{0x15f9, "P100-SXM2-16GB"},
    ModelEntry{0x17fd, "M40"},
    ModelEntry{0x1b38, "P40"},
    ModelEntry{0x1bb3, "P4"},
    ModelEntry{0x1db1, "V100-SXM2-16GB"},
    ModelEntry{0x1db4, "V100-PCIE-16GB"},
    ModelEntry{0x1db5, "V100-SXM2-32GB"},
    ModelEntry{0x1db6, "V100-PCIE-32GB"},
    ModelEntry{0x1db8, "V100-SXM3-32GB"},
    ModelEntry{0x1df6, "V100S-PCIE-32GB"},
    ModelEntry{0x1eb8, "T4"},
    ModelEntry{0x20b0, "A100-SXM4-40GB"},
    ModelEntry{0x20b1, "A100-PCIE-40GB"},
    ModelEntry{0x20b2, "A100-SXM4-80GB"},
    ModelEntry{0x20b5, "A100-PCIE-80GB"},
    ModelEntry{0x20b7, "A30"},
    ModelEntry{0x20f1, "A100-PCIE-40GB"},
    ModelEntry{0x20f3, "A800-SXM4-80GB"},
    ModelEntry{0x20f5, "A800-PCIE-80GB"},
    ModelEntry{0x20f6, "A800-PCIE-40GB"},
    ModelEntry{0x2230, "RTX-A6000"},
    ModelEntry{0x2231, "RTX-A5000"},
    ModelEntry{0x2235, "A40"},
    ModelEntry{0x2236, "A10"},
    ModelEntry{0x2237, "A10G"},
    ModelEntry{0x2321, "H100-NVL-94GB"},
    ModelEntry{0x2322, "H800-PCIE-80GB"},
    ModelEntry{0x2324, "H800-SXM5-80GB"},
    ModelEntry{0x2329, "H20-SXM5-96GB"},
    ModelEntry{0x2330, "H100-SXM5-80GB"},
    ModelEntry{0x2331, "H100-PCIE-80GB"},
    ModelEntry{0x2335, "H200-SXM5-141GB"},
    ModelEntry{0x233a, "H800-NVL-94GB"},
    ModelEntry{0x233b, "H200-NVL-141GB"},
    ModelEntry{0x2342, "GH200-96GB"},
    ModelEntry{0x2348, "GH200-144GB"},
    ModelEntry{0x25b6, "A2"},
    ModelEntry{0x26b1, "RTX-6000-Ada"},
    ModelEntry{0x26b5, "L40"},
    ModelEntry{0x26b9, "L40S"},
    ModelEntry{0x27b8, "L4"},
    ModelEntry{0x2901, "B200-SXM6-180GB"},
    ModelEntry{0x2941, "GB200-186GB"},
    ModelEntry{0x2bb5, "RTX-PRO-6000-Blackwell"},
    ModelEntry{0x3182, "B300-SXM6-269GB"},
    ModelEntry{0x31c2, "GB300-278GB"},
};

// Runs of other characters become one dash; none at either end.
std::string Sanitised(std::string_view text) {
  std::string id;
  for (const char c : text) {
    if (IsAlphanumeric(c) || c == '.') {
      id += c;
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  id.resize(std::min(id.size(), kMaxModelId));
  const auto is_edge = [](char c) { return c == '-' || c == '.'; };
  while (!id.empty() && is_edge(id.back())) {
    id.pop_back();
  }
  id.erase(id.begin(), std::ranges::find_if_not(id, is_edge));
  return id;
}

// "L4-12Q", "GRID-T4-4C", "GRID-A100D-1-10C", "A100-1-5CME": a part of a GPU that a hypervisor
// gives to a virtual machine, with the PCI device id of the whole. Source: NVIDIA's vGPU guide,
// "Virtual GPU Types".
bool IsVirtualGpu(std::string_view id) {
  std::string_view profile = id.substr(id.rfind('-') + 1);
  if (profile.ends_with("ME")) {
    profile.remove_suffix(2);
  }
  constexpr std::string_view kSeries = "ABCQ";
  return profile.size() > 1 && profile.size() < id.size() &&
         kSeries.find(profile.back()) != std::string_view::npos &&
         ParseUint(profile.substr(0, profile.size() - 1)).has_value();
}

std::string_view FirstPart(std::string_view id) {
  return id.substr(0, id.find('-'));
}

// Whether the driver's name means the product of the table's model: several products may share a
// PCI device id. "H100-80GB-HBM3" is the same as "H100-SXM5-80GB", "A16" is not "A2".
bool IsSameProduct(std::string_view id, std::string_view model) {
  if (IsVirtualGpu(id)) {
    return false;
  }
  const bool is_longer =
      id.starts_with(model) && (id.size() == model.size() || id[model.size()] == '-');
  const bool has_number = std::ranges::any_of(FirstPart(model), IsDigit);
  return is_longer || (has_number && FirstPart(id) == FirstPart(model));
}

}  // namespace

std::string ModelId(std::string_view name, uint16_t pci_device_id) {
  std::string_view rest = Trim(name);
  for (const std::string_view maker : {"NVIDIA ", "Tesla "}) {
    if (rest.starts_with(maker)) {
      rest.remove_prefix(maker.size());
    }
  }
  std::string id = Sanitised(rest);
  const auto* found =
      std::ranges::lower_bound(kModels, pci_device_id, {}, &ModelEntry::pci_device_id);
  const bool is_known = found != kModels.end() && found->pci_device_id == pci_device_id;
  if (is_known && (id.empty() || IsSameProduct(id, found->model))) {
    return std::string(found->model);
  }
  return id.empty() ? fmt::format("PCI-10DE-{:04X}", pci_device_id) : id;
}

std::string_view ArchitectureName(std::optional<uint32_t> nvml_architecture,
                                  std::optional<ComputeCapability> compute) {
  // By NVML's numbers.
  static constexpr std::array<std::string_view, nvml::kArchRubin + 1> kNames = {
      "",       "",    "kepler", "maxwell",   "pascal", "volta", "turing",
      "ampere", "ada", "hopper", "blackwell", "",       "",      "rubin"};
  const uint32_t number = nvml_architecture.value_or(nvml::kArchUnknown);
  if (number < kNames.size() && !kNames.at(number).empty()) {
    return kNames.at(number);
  }
  if (!compute) {
    return "";
  }
  switch (compute->major) {
    case 3:
      return "kepler";
    case 5:
      return "maxwell";
    case 6:
      return "pascal";
    case 7:
      return compute->minor >= 5 ? "turing" : "volta";
    case 8:
      return compute->minor == 9 ? "ada" : "ampere";
    case 9:
      return "hopper";
    case 10:
    case 11:
    case 12:
      return "blackwell";
    default:
      return "";
  }
}

std::string_view BrandName(int32_t nvml_brand) {
  // By NVML's numbers; 0 is an unknown brand.
  static constexpr std::array<std::string_view, nvml::kBrandTitanRtx + 1> kBrands = {
      "",          "Quadro",      "Tesla",     "NVS",        "Grid",      "GeForce",
      "Titan",     "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",  "NvidiaVWS", "NvidiaCloudGaming",
      "QuadroRTX", "NvidiaRTX",   "NVIDIA",    "GeForceRTX", "TitanRTX"};
  const auto brand = static_cast<size_t>(nvml_brand);
  return brand < kBrands.size() ? kBrands.at(brand) : "";
}

}  // namespace kgpu::device
