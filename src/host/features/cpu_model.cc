#include "src/host/features/cpu_model.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr std::string_view kUnknown = "VendorUnknown";

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kVendors = {{
    {"GenuineIntel", "Intel"},     {"AuthenticAMD", "AMD"},       {"AMDisbetter!", "AMD"},
    {"HygonGenuine", "Hygon"},     {"CentaurHauls", "VIA"},       {"VIA VIA VIA ", "VIA"},
    {"TransmetaCPU", "Transmeta"}, {"GenuineTMx86", "Transmeta"}, {"Geode by NSC", "NSC"},
    {"Vortex86 SoC", "SiS"},       {"SiS SiS SiS ", "SiS"},       {"RiseRiseRise", "SiS"},
    {"Genuine  RDC", "RDC"},       {"KVMKVMKVM", "KVM"},          {"Linux KVM Hv", "KVM"},
    {"TCGTCGTCGTCG", "QEMU"},      {"Microsoft Hv", "MSVM"},      {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "XenHVM"},    {"bhyve bhyve ", "Bhyve"},     {"QNXQVMBSQG", "QNX"},
    {"ACRNACRNACRN", "ACRN"},      {"SRESRESRESRE", "SRE"},       {"Apple VZ", "Apple"},
}};

// Twelve letters of three registers, up to the first zero byte.
std::string Signature(std::initializer_list<uint32_t> registers) {
  std::string text;
  for (const uint32_t value : registers) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      const auto letter = static_cast<char>((value >> shift) & 0xffU);
      if (letter == '\0') {
        return text;
      }
      text.push_back(letter);
    }
  }
  return text;
}

bool IsModelCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.';
}

// One "_" for each run of what a label cannot have.
std::string LabelText(std::string_view text) {
  std::string out;
  bool was_bad = false;
  for (const char c : text) {
    const bool is_bad = !IsModelCharacter(c);
    if (!is_bad || !was_bad) {
      out.push_back(is_bad ? '_' : c);
    }
    was_bad = is_bad;
  }
  return out;
}

}  // namespace

std::string_view VendorOfSignature(std::string_view signature) {
  const auto* const found =
      std::ranges::find(kVendors, signature, &std::pair<std::string_view, std::string_view>::first);
  return found == kVendors.end() ? kUnknown : found->second;
}

CpuModel ParseCpuModel(const CpuidRegisters& zero, const CpuidRegisters& one) {
  constexpr unsigned kFamilyWithModelBits = 0x6;
  constexpr unsigned kFamilyWithMore = 0xf;
  CpuModel out;
  out.vendor = VendorOfSignature(Signature({zero.ebx, zero.edx, zero.ecx}));
  if (zero.eax < 1) {
    return out;
  }
  const unsigned family = (one.eax >> 8) & 0xfU;
  out.family = family == kFamilyWithMore ? family + ((one.eax >> 20) & 0xffU) : family;
  out.model = (one.eax >> 4) & 0xfU;
  if (family == kFamilyWithModelBits || family == kFamilyWithMore) {
    out.model += (one.eax >> 12) & 0xf0U;
  }
  return out;
}

std::string ParseHypervisor(const CpuidRegisters& leaf) {
  const std::string signature = Signature({leaf.ebx, leaf.ecx, leaf.edx});
  const std::string_view vendor = VendorOfSignature(signature);
  if (vendor != kUnknown) {
    return ToLower(vendor);
  }
  const std::string text = LabelText(signature);
  return text.empty() ? "unknown" : text;
}

}  // namespace kgpu::features
