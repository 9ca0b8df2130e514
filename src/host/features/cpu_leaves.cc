#include "src/host/features/cpu_leaves.h"

namespace kgpu::features {
namespace {

constexpr uint32_t kExtended = 0x80000000;
constexpr uint32_t kHypervisor = 0x40000000;

}  // namespace

CpuLeaves::CpuLeaves(CpuidReader& cpuid) : cpuid_(cpuid) {
  LoadFirst();
  LoadBasic();
  LoadExtended();
  LoadState();
}

bool CpuLeaves::has_leaf(uint32_t leaf) const {
  if (leaf >= kExtended) {
    return leaf <= last_extended_;
  }
  return leaf >= kHypervisor || leaf <= last_basic_;
}

void CpuLeaves::LoadFirst() {
  const CpuidRegisters zero = cpuid_.Read(0, 0);
  last_basic_ = zero.eax;
  last_extended_ = cpuid_.Read(kExtended, 0).eax;
  const CpuidRegisters one = Read(1);
  Set(Word::k1Ecx, one.ecx);
  Set(Word::k1Edx, one.edx);
  model_ = ParseCpuModel(zero, one);
}

void CpuLeaves::LoadBasic() {
  constexpr unsigned kXsave = 26;
  constexpr unsigned kSgx = 2;
  constexpr unsigned kAmxTile = 24;
  constexpr unsigned kAvx10 = 19;
  const CpuidRegisters seven = Read(7);
  Set(Word::k7Ebx, seven.ebx);
  Set(Word::k7Ecx, seven.ecx);
  Set(Word::k7Edx, seven.edx);
  const CpuidRegisters seven1 = Read(7, 1);
  Set(Word::k7Sub1Eax, seven1.eax);
  Set(Word::k7Sub1Edx, seven1.edx);
  Set(Word::k7Sub2Edx, Read(7, 2).edx);
  if (Has(Word::k1Ecx, kXsave)) {
    Set(Word::kDSub1Eax, Read(0xd, 1).eax);
  }
  if (Has(Word::k7Ebx, kSgx)) {
    Set(Word::k12Eax, Read(0x12).eax);
  }
  if (Has(Word::k7Edx, kAmxTile)) {
    Set(Word::k1ESub1Eax, Read(0x1e, 1).eax);
  }
  if (Has(Word::k7Sub1Edx, kAvx10)) {
    Set(Word::k24Ebx, Read(0x24).ebx);
  }
}

void CpuLeaves::LoadExtended() {
  constexpr unsigned kSvm = 2;
  constexpr unsigned kIbs = 10;
  const CpuidRegisters one = Read(kExtended + 0x1);
  Set(Word::kExt1Ecx, one.ecx);
  Set(Word::kExt1Edx, one.edx);
  const CpuidRegisters seven = Read(kExtended + 0x7);
  Set(Word::kExt7Ebx, seven.ebx);
  Set(Word::kExt7Edx, seven.edx);
  Set(Word::kExt8Ebx, Read(kExtended + 0x8).ebx);
  if (Has(Word::kExt1Ecx, kSvm)) {
    Set(Word::kExtAEdx, Read(kExtended + 0xa).edx);
  }
  Set(Word::kExt1AEax, Read(kExtended + 0x1a).eax);
  if (Has(Word::kExt1Ecx, kIbs)) {
    Set(Word::kExt1BEax, Read(kExtended + 0x1b).eax);
  }
  if (is_amd()) {
    Set(Word::kExt1FEax, Read(kExtended + 0x1f).eax);
    const CpuidRegisters twenty_one = Read(kExtended + 0x21);
    Set(Word::kExt21Eax, twenty_one.eax);
    Set(Word::kExt21Ecx, twenty_one.ecx);
  }
}

void CpuLeaves::LoadState() {
  constexpr unsigned kXsave = 26;
  constexpr unsigned kOsXsave = 27;
  constexpr unsigned kAvx = 28;
  constexpr uint64_t kAvxState = 0x6;      // XMM and YMM
  constexpr uint64_t kAvx512State = 0xe6;  // and mask registers, both halves of ZMM
  if (!Has(Word::k1Ecx, kXsave) || !Has(Word::k1Ecx, kOsXsave)) {
    return;
  }
  const uint64_t saved = cpuid_.Xcr0();
  has_avx_state_ = Has(Word::k1Ecx, kAvx) && (saved & kAvxState) == kAvxState;
  has_avx512_state_ = (saved & kAvx512State) == kAvx512State;
}

}  // namespace kgpu::features
