#include "src/features/cpu_flags.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

namespace kgpu::features {
namespace {

// What must be there besides a flag's own bit for the instructions to be of use.
enum class Needs : uint8_t { kNothing, kAvx, kAvx512 };

struct FlagBit {
  Word word;
  uint8_t bit;
  const char* name;
  Needs needs = Needs::kNothing;
};

constexpr std::array kBasicFlags = std::to_array<FlagBit>({
    {Word::k1Edx, 0, "X87"},
    {Word::k1Edx, 8, "CMPXCHG8"},
    {Word::k1Edx, 11, "SYSEE"},
    {Word::k1Edx, 15, "CMOV"},
    {Word::k1Edx, 23, "MMX"},
    {Word::k1Edx, 24, "FXSR"},
    {Word::k1Edx, 25, "FXSROPT"},
    {Word::k1Edx, 25, "SSE"},
    {Word::k1Edx, 26, "SSE2"},
    {Word::k1Ecx, 0, "SSE3"},
    {Word::k1Ecx, 1, "CLMUL"},
    {Word::k1Ecx, 5, "VMX"},
    {Word::k1Ecx, 9, "SSSE3"},
    {Word::k1Ecx, 13, "CX16"},
    {Word::k1Ecx, 19, "SSE4"},
    {Word::k1Ecx, 20, "SSE42"},
    {Word::k1Ecx, 22, "MOVBE"},
    {Word::k1Ecx, 23, "POPCNT"},
    {Word::k1Ecx, 25, "AESNI"},
    {Word::k1Ecx, 26, "XSAVE"},
    {Word::k1Ecx, 27, "OSXSAVE"},
    {Word::k1Ecx, 28, "AVX", Needs::kAvx},
    {Word::k1Ecx, 29, "F16C"},
    {Word::k1Ecx, 30, "RDRAND"},
    {Word::k1Ecx, 31, "HYPERVISOR"},
    {Word::k7Ebx, 2, "SGX"},
    {Word::k7Ebx, 3, "BMI1"},
    {Word::k7Ebx, 4, "HLE"},
    {Word::k7Ebx, 5, "AVX2", Needs::kAvx},
    {Word::k7Ebx, 9, "ERMS"},
    {Word::k7Ebx, 11, "RTM"},
    {Word::k7Ebx, 14, "MPX"},
    {Word::k7Ebx, 16, "AVX512F", Needs::kAvx512},
    {Word::k7Ebx, 17, "AVX512DQ", Needs::kAvx512},
    {Word::k7Ebx, 18, "RDSEED"},
    {Word::k7Ebx, 19, "ADX"},
    {Word::k7Ebx, 21, "AVX512IFMA", Needs::kAvx512},
    {Word::k7Ebx, 26, "AVX512PF", Needs::kAvx512},
    {Word::k7Ebx, 27, "AVX512ER", Needs::kAvx512},
    {Word::k7Ebx, 28, "AVX512CD", Needs::kAvx512},
    {Word::k7Ebx, 29, "SHA"},
    {Word::k7Ebx, 30, "AVX512BW", Needs::kAvx512},
    {Word::k7Ebx, 31, "AVX512VL", Needs::kAvx512},
    {Word::k7Ecx, 1, "AVX512VBMI", Needs::kAvx512},
    {Word::k7Ecx, 5, "WAITPKG"},
    {Word::k7Ecx, 6, "AVX512VBMI2", Needs::kAvx512},
    {Word::k7Ecx, 7, "CETSS"},
    {Word::k7Ecx, 8, "GFNI"},
    {Word::k7Ecx, 9, "VAES"},
    {Word::k7Ecx, 10, "VPCLMULQDQ"},
    {Word::k7Ecx, 11, "AVX512VNNI", Needs::kAvx512},
    {Word::k7Ecx, 12, "AVX512BITALG", Needs::kAvx512},
    {Word::k7Ecx, 13, "TME"},
    {Word::k7Ecx, 14, "AVX512VPOPCNTDQ", Needs::kAvx512},
    {Word::k7Ecx, 23, "KEYLOCKER"},
    {Word::k7Ecx, 25, "CLDEMOTE"},
    {Word::k7Ecx, 27, "MOVDIRI"},
    {Word::k7Ecx, 28, "MOVDIR64B"},
    {Word::k7Ecx, 29, "ENQCMD"},
    {Word::k7Ecx, 30, "SGXLC"},
    {Word::k7Edx, 4, "FSRM"},
    {Word::k7Edx, 8, "AVX512VP2INTERSECT", Needs::kAvx512},
    {Word::k7Edx, 9, "SRBDS_CTRL"},
    {Word::k7Edx, 10, "MD_CLEAR"},
    {Word::k7Edx, 11, "RTM_ALWAYS_ABORT"},
    {Word::k7Edx, 14, "SERIALIZE"},
    {Word::k7Edx, 15, "HYBRID_CPU"},
    {Word::k7Edx, 16, "TSXLDTRK"},
    {Word::k7Edx, 18, "PCONFIG"},
    {Word::k7Edx, 20, "CETIBT"},
    {Word::k7Edx, 22, "AMXBF16", Needs::kAvx512},
    {Word::k7Edx, 23, "AVX512FP16", Needs::kAvx512},
    {Word::k7Edx, 24, "AMXTILE", Needs::kAvx512},
    {Word::k7Edx, 25, "AMXINT8", Needs::kAvx512},
    {Word::k7Edx, 26, "IBPB"},
    {Word::k7Edx, 27, "STIBP"},
    {Word::k7Edx, 28, "FLUSH_L1D"},
    {Word::k7Edx, 29, "IA32_ARCH_CAP"},
    {Word::k7Edx, 30, "IA32_CORE_CAP"},
    {Word::k7Edx, 31, "SPEC_CTRL_SSBD"},
    {Word::k7Sub1Eax, 1, "SM3_X86"},
    {Word::k7Sub1Eax, 2, "SM4_X86"},
    {Word::k7Sub1Eax, 4, "AVXVNNI", Needs::kAvx},
    {Word::k7Sub1Eax, 5, "AVX512BF16", Needs::kAvx512},
    {Word::k7Sub1Eax, 7, "CMPCCXADD"},
    {Word::k7Sub1Eax, 10, "MOVSB_ZL"},
    {Word::k7Sub1Eax, 11, "STOSB_SHORT"},
    {Word::k7Sub1Eax, 12, "CMPSB_SCADBS_SHORT"},
    {Word::k7Sub1Eax, 19, "WRMSRNS", Needs::kAvx512},
    {Word::k7Sub1Eax, 21, "AMXFP16", Needs::kAvx512},
    {Word::k7Sub1Eax, 22, "HRESET"},
    {Word::k7Sub1Eax, 23, "AVXIFMA"},
    {Word::k7Sub1Eax, 26, "LAM"},
    {Word::k7Sub1Eax, 27, "MSRLIST", Needs::kAvx512},
    {Word::k7Sub1Edx, 4, "AVXVNNIINT8"},
    {Word::k7Sub1Edx, 5, "AVXNECONVERT"},
    {Word::k7Sub1Edx, 6, "AMXTRANSPOSE"},
    {Word::k7Sub1Edx, 7, "AMXTF32"},
    {Word::k7Sub1Edx, 8, "AMXCOMPLEX"},
    {Word::k7Sub1Edx, 10, "AVXVNNIINT16"},
    {Word::k7Sub1Edx, 14, "PREFETCHI"},
    {Word::k7Sub1Edx, 19, "AVX10"},
    {Word::k7Sub1Edx, 21, "APX_F"},
    {Word::k7Sub2Edx, 0, "PSFD"},
    {Word::k7Sub2Edx, 1, "IDPRED_CTRL"},
    {Word::k7Sub2Edx, 2, "RRSBA_CTRL"},
    {Word::k7Sub2Edx, 4, "BHI_CTRL"},
    {Word::k7Sub2Edx, 5, "MCDT_NO"},
    {Word::kDSub1Eax, 0, "XSAVEOPT"},
    {Word::kDSub1Eax, 1, "XSAVEC"},
    {Word::kDSub1Eax, 2, "XGETBV1"},
    {Word::kDSub1Eax, 3, "XSAVES"},
    {Word::k12Eax, 12, "SGXPQC"},
    {Word::k1ESub1Eax, 4, "AMXFP8", Needs::kAvx512},
    {Word::k24Ebx, 16, "AVX10_128"},
    {Word::k24Ebx, 17, "AVX10_256"},
    {Word::k24Ebx, 18, "AVX10_512"},
});

constexpr std::array kExtendedFlags = std::to_array<FlagBit>({
    {Word::kExt1Ecx, 0, "LAHF"},
    {Word::kExt1Ecx, 2, "SVM"},
    {Word::kExt1Ecx, 5, "LZCNT"},
    {Word::kExt1Ecx, 5, "POPCNT"},  // the two came together
    {Word::kExt1Ecx, 6, "SSE4A"},
    {Word::kExt1Ecx, 10, "IBS"},
    {Word::kExt1Ecx, 11, "XOP", Needs::kAvx},
    {Word::kExt1Ecx, 16, "FMA4", Needs::kAvx},
    {Word::kExt1Ecx, 22, "TOPEXT"},
    {Word::kExt1Edx, 11, "SYSCALL"},
    {Word::kExt1Edx, 20, "NX"},
    {Word::kExt1Edx, 22, "MMXEXT"},
    {Word::kExt1Edx, 23, "MMX"},
    {Word::kExt1Edx, 24, "FXSR"},
    {Word::kExt1Edx, 25, "FXSROPT"},
    {Word::kExt1Edx, 27, "RDTSCP"},
    {Word::kExt1Edx, 30, "AMD3DNOWEXT"},
    {Word::kExt1Edx, 31, "AMD3DNOW"},
    {Word::kExt7Ebx, 0, "MCAOVERFLOW"},
    {Word::kExt7Ebx, 1, "SUCCOR"},
    {Word::kExt7Ebx, 2, "HWA"},
    {Word::kExt7Edx, 9, "CPBOOST"},
    {Word::kExt8Ebx, 0, "CLZERO"},
    {Word::kExt8Ebx, 1, "MSRIRC"},
    {Word::kExt8Ebx, 3, "INVLPGB"},
    {Word::kExt8Ebx, 4, "RDPRU"},
    {Word::kExt8Ebx, 8, "MCOMMIT"},
    {Word::kExt8Ebx, 9, "WBNOINVD"},
    {Word::kExt8Ebx, 12, "IBPB"},
    {Word::kExt8Ebx, 13, "INT_WBINVD"},
    {Word::kExt8Ebx, 14, "IBRS"},
    {Word::kExt8Ebx, 15, "STIBP"},
    {Word::kExt8Ebx, 17, "STIBP_ALWAYSON"},
    {Word::kExt8Ebx, 18, "IBRS_PREFERRED"},
    {Word::kExt8Ebx, 19, "IBRS_PROVIDES_SMP"},
    {Word::kExt8Ebx, 20, "EFER_LMSLE_UNS"},
    {Word::kExt8Ebx, 21, "TLB_FLUSH_NESTED"},
    {Word::kExt8Ebx, 23, "PPIN"},
    {Word::kExt8Ebx, 24, "SPEC_CTRL_SSBD"},
    {Word::kExt8Ebx, 27, "CPPC"},
    {Word::kExt8Ebx, 28, "PSFD"},
    {Word::kExtAEdx, 0, "SVMNP"},
    {Word::kExtAEdx, 1, "LBRVIRT"},
    {Word::kExtAEdx, 2, "SVML"},
    {Word::kExtAEdx, 3, "NRIPS"},
    {Word::kExtAEdx, 4, "TSCRATEMSR"},
    {Word::kExtAEdx, 5, "VMCBCLEAN"},
    {Word::kExtAEdx, 6, "SVMFBASID"},
    {Word::kExtAEdx, 7, "SVMDA"},
    {Word::kExtAEdx, 10, "SVMPF"},
    {Word::kExtAEdx, 12, "SVMPFT"},
    {Word::kExt1AEax, 0, "FP128"},
    {Word::kExt1AEax, 1, "MOVU"},
    {Word::kExt1AEax, 2, "FP256"},
    {Word::kExt1BEax, 0, "IBSFFV"},
    {Word::kExt1BEax, 1, "IBSFETCHSAM"},
    {Word::kExt1BEax, 2, "IBSOPSAM"},
    {Word::kExt1BEax, 3, "IBSRDWROPCNT"},
    {Word::kExt1BEax, 4, "IBSOPCNT"},
    {Word::kExt1BEax, 5, "IBSBRNTRGT"},
    {Word::kExt1BEax, 6, "IBSOPCNTEXT"},
    {Word::kExt1BEax, 7, "IBSRIPINVALIDCHK"},
    {Word::kExt1BEax, 8, "IBS_OPFUSE"},
    {Word::kExt1BEax, 9, "IBS_FETCH_CTLX"},
    {Word::kExt1BEax, 10, "IBS_OPDATA4"},
    {Word::kExt1BEax, 11, "IBS_ZEN4"},
    {Word::kExt1FEax, 0, "SME"},
    {Word::kExt1FEax, 1, "SEV"},
    {Word::kExt1FEax, 2, "MSR_PAGEFLUSH"},
    {Word::kExt1FEax, 3, "SEV_ES"},
    {Word::kExt1FEax, 4, "SEV_SNP"},
    {Word::kExt1FEax, 5, "VMPL"},
    {Word::kExt1FEax, 10, "SME_COHERENT"},
    {Word::kExt1FEax, 11, "SEV_64BIT"},
    {Word::kExt1FEax, 12, "SEV_RESTRICTED"},
    {Word::kExt1FEax, 13, "SEV_ALTERNATIVE"},
    {Word::kExt1FEax, 14, "SEV_DEBUGSWAP"},
    {Word::kExt1FEax, 15, "IBS_PREVENTHOST"},
    {Word::kExt1FEax, 16, "VTE"},
    {Word::kExt1FEax, 24, "VMSA_REGPROT"},
    {Word::kExt21Eax, 5, "TSA_VERW_CLEAR"},
    {Word::kExt21Eax, 23, "AVX512BMM"},
    {Word::kExt21Eax, 27, "SBPB"},
    {Word::kExt21Eax, 28, "IBPB_BRTYPE"},
    {Word::kExt21Eax, 29, "SRSO_NO"},
    {Word::kExt21Eax, 30, "SRSO_USER_KERNEL_NO"},
    {Word::kExt21Eax, 31, "SRSO_MSR_FIX"},
    {Word::kExt21Ecx, 1, "TSA_L1_NO"},
    {Word::kExt21Ecx, 2, "TSA_SQ_NO"},
});

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

// Of an Intel CPU from before the topology leaf: logical processors a package over its cores.
unsigned OldThreadsPerCore(const CpuLeaves& leaves) {
  const unsigned logical = (leaves.Read(1).ebx >> 16) & 0xffU;
  const unsigned cores = (leaves.Read(4).eax >> 26) + 1;
  return logical > 1 ? logical / cores : 1;
}

// Bit 28 of leaf 1 says no more than that a package may have several logical processors.
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

// AMD's CPUs that transient scheduler attacks do not work on, and that do not say so themselves.
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
  // A leaf of TDX says so; Hyper-V hides that one, but tells in one of its own.
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
