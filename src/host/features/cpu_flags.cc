#include "src/host/features/cpu_flags.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "src/host/features/cpu_flag_table.h"

namespace kgpu::features {
namespace {

bool IsMet(Needs needs, const CpuLeaves& leaves) {
  switch (needs) {
    case Needs::kNothing:
      return true;
    case Needs::kAvx:
      return leaves.has_avx_state();
    case Needs::kAvx512:
      return leaves.has_avx512_state();
  }
  return false;
}

template <size_t N>
void AddTable(const std::array<FlagBit, N>& table, const CpuLeaves& leaves, Flags& flags) {
  for (const FlagBit& flag : table) {
    if (leaves.Has(flag.word, flag.bit) && IsMet(flag.needs, leaves)) {
      flags.emplace(flag.name);
    }
  }
}

void AddIf(bool is_so, const char* name, Flags& flags) {
  if (is_so) {
    flags.emplace(name);
  }
}

// For Intel CPUs from before the topology leaf: logical processors of a package over its cores.
unsigned OldThreadsPerCore(const CpuLeaves& leaves) {
  const unsigned logical = (leaves.Read(1).ebx >> 16) & 0xffU;
  const unsigned cores = (leaves.Read(4).eax >> 26) + 1;
  return logical > 1 ? logical / cores : 1;
}

// Bit 28 of leaf 1 only says that a package may have several logical processors.
bool HasSeveralThreadsPerCore(const CpuLeaves& leaves) {
  constexpr uint32_t kTopology = 0xb;
  constexpr uint32_t kAmdTopology = 0x8000001e;
  constexpr unsigned kZen = 23;
  if ((!leaves.is_intel() && !leaves.is_amd()) || !leaves.Has(Word::k1Edx, 28)) {
    return false;
  }
  if (!leaves.has_leaf(kTopology)) {
    return leaves.is_intel() && leaves.has_leaf(4) && OldThreadsPerCore(leaves) > 1;
  }
  if (const uint32_t threads = leaves.Read(kTopology).ebx & 0xffffU; threads != 0) {
    return threads > 1;
  }
  if (!leaves.is_amd() || leaves.model().family < kZen) {
    return false;
  }
  return !leaves.has_leaf(kAmdTopology) || ((leaves.Read(kAmdTopology).ebx >> 8) & 0xffU) > 0;
}

// Executes 256-bit instructions as two halves: Intel before Haswell, AMD before Zen 2.
bool HasSlowAvx(const CpuLeaves& leaves) {
  const auto& [vendor, family, model] = leaves.model();
  if (!leaves.has_avx_state()) {
    return false;
  }
  if (leaves.is_intel()) {
    return family == 6 && model < 60;
  }
  return leaves.is_amd() && (family < 23 || (family == 23 && model < 49));
}

// AMD's CPUs that are not affected by transient scheduler attacks and do not say so themselves.
// Source: AMD, Technical Guidance for Mitigating Transient Scheduler Attacks.
bool IsSafeFromTsa(const CpuLeaves& leaves) {
  const auto& [vendor, family, model] = leaves.model();
  if (!leaves.is_amd()) {
    return false;
  }
  return family < 0x19 || (family == 0x1a && (model <= 0x4f || (model >= 0x60 && model <= 0x7f)));
}

// The fixed counters of leaf 0xa. EBX has a bit for each event that is not there; older CPUs leave
// it zero and give a number of counters.
void AddCounters(const CpuLeaves& leaves, Flags& flags) {
  constexpr std::array kNames = {"PMU_FIXEDCOUNTER_INSTRUCTIONS", "PMU_FIXEDCOUNTER_CYCLES",
                                 "PMU_FIXEDCOUNTER_REFCYCLES", "PMU_FIXEDCOUNTER_TOPDOWN_SLOTS"};
  const CpuidRegisters leaf = leaves.Read(0xa);
  const uint32_t version = leaf.eax & 0xffU;
  const uint32_t counters = version > 1 ? leaf.edx & 0x1fU : 0;
  if (version == 0) {
    return;
  }
  for (size_t i = 0; i < kNames.size(); ++i) {
    const bool is_there = leaf.ebx != 0 ? ((leaf.ebx >> i) & 1U) == 0
                                        : (counters == 3 || counters == 4) && i < counters;
    AddIf(is_there, kNames[i], flags);
  }
}

bool HasAll(const Flags& flags, std::initializer_list<const char*> names) {
  return std::ranges::all_of(names, [&](const char* name) { return flags.contains(name); });
}

}  // namespace

void AddX86Levels(Flags& flags) {
  if (!flags.contains("SYSEE") && !flags.contains("SYSCALL")) {
    return;
  }
  const std::array levels = {
      HasAll(flags, {"CMOV", "CMPXCHG8", "X87", "FXSR", "MMX", "SSE", "SSE2"}),
      HasAll(flags, {"CX16", "LAHF", "POPCNT", "SSE3", "SSE4", "SSE42", "SSSE3"}),
      HasAll(flags, {"AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA3", "LZCNT", "MOVBE", "OSXSAVE"}),
      HasAll(flags, {"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"})};
  for (size_t i = 0; i < levels.size() && levels[i]; ++i) {
    flags.insert(fmt::format("X86_64_V{}", i + 1));
  }
}

Flags CpuFlags(const CpuLeaves& leaves) {
  Flags flags;
  AddTable(kBasicFlags, leaves, flags);
  AddTable(kExtendedFlags, leaves, flags);
  AddIf(leaves.Has(Word::k7Ebx, 3) && leaves.Has(Word::k7Ebx, 8), "BMI2", flags);
  AddIf(leaves.Has(Word::k1Ecx, 12) && leaves.Has(Word::k1Ecx, 27), "FMA3", flags);
  AddIf(HasSeveralThreadsPerCore(leaves), "HTT", flags);
  AddIf(HasSlowAvx(leaves), "AVXSLOW", flags);
  constexpr uint32_t kWideKeyLocker = 0b101;
  AddIf(leaves.Has(Word::k7Ecx, 23) && (leaves.Read(0x19).ebx & kWideKeyLocker) == kWideKeyLocker,
        "KEYLOCKERW", flags);
  if (IsSafeFromTsa(leaves)) {
    flags.insert({"TSA_L1_NO", "TSA_SQ_NO"});
  }
  AddIf(IsTdxGuest(leaves), "TDX_GUEST", flags);
  AddCounters(leaves, flags);
  AddX86Levels(flags);
  return flags;
}

std::string Hypervisor(const CpuLeaves& leaves) {
  constexpr uint32_t kHypervisorLeaf = 0x40000000;
  constexpr unsigned kHypervisorBit = 31;
  return leaves.Has(Word::k1Ecx, kHypervisorBit) ? ParseHypervisor(leaves.Read(kHypervisorLeaf))
                                                 : "none";
}

unsigned Avx10Version(const CpuLeaves& leaves) {
  return leaves.Has(Word::k7Sub1Edx, 19) ? leaves.Read(0x24).ebx & 0xffU : 0;
}

uint64_t SgxMemory(const CpuLeaves& leaves) {
  constexpr uint32_t kSgx = 0x12;
  constexpr uint32_t kFirstSection = 2;
  constexpr uint32_t kMostSections = 8;
  constexpr uint32_t kLowBits = 0xfffff000;
  constexpr uint32_t kHighBits = 0x000fffff;
  if (!leaves.Has(Word::k7Ebx, 2)) {
    return 0;
  }
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < kMostSections; ++i) {
    const CpuidRegisters section = leaves.Read(kSgx, kFirstSection + i);
    const uint32_t type = section.eax & 0xfU;
    if (type == 0) {
      break;
    }
    if (type == 1) {
      bytes += (section.ecx & kLowBits) + (uint64_t{section.edx & kHighBits} << 32);
    }
  }
  return bytes;
}

bool IsTdxGuest(const CpuLeaves& leaves) {
  // A leaf of TDX says so; Hyper-V hides that one, but has one of its own.
  constexpr uint32_t kHyperVIsolation = 0x4000000c;
  constexpr uint32_t kHyperVTdx = 0xbe3;
  constexpr uint32_t kTdx = 0x21;
  constexpr CpuidRegisters kIntelTdx = {
      .eax = 0, .ebx = 0x65746e49, .ecx = 0x20202020, .edx = 0x5844546c};  // "IntelTDX    "
  if (leaves.has_leaf(0x20) && leaves.Read(kHyperVIsolation).ebx == kHyperVTdx) {
    return true;
  }
  CpuidRegisters tdx = leaves.Read(kTdx);
  tdx.eax = 0;
  return tdx == kIntelTdx;
}

Flags RdtFlags(const CpuLeaves& leaves) {
  constexpr uint32_t kMonitoring = 0x0f;
  constexpr uint32_t kAllocation = 0x10;
  Flags flags;
  if (leaves.Has(Word::k7Ebx, 12) && (leaves.Read(kMonitoring).edx & 0b10U) != 0) {
    const uint32_t l3 = leaves.Read(kMonitoring, 1).edx;
    flags.insert("RDTMON");
    AddIf((l3 & 0b001U) != 0, "RDTCMT", flags);
    AddIf((l3 & 0b110U) == 0b110U, "RDTMBM", flags);
  }
  if (leaves.Has(Word::k7Ebx, 15)) {
    const uint32_t kinds = leaves.Read(kAllocation).ebx;
    AddIf((kinds & 0b0010U) != 0, "RDTL3CA", flags);
    AddIf((kinds & 0b0100U) != 0, "RDTL2CA", flags);
    AddIf((kinds & 0b1000U) != 0, "RDTMBA", flags);
  }
  return flags;
}

unsigned NominalMhz(const CpuLeaves& leaves) {
  return leaves.Read(0x16).eax & 0xffffU;
}

}  // namespace kgpu::features
