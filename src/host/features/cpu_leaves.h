// The CPUID registers that contain the flags. Reads each leaf once, since it is expensive in a
// virtual machine, and only if the CPU has it: a leaf past the last one returns another leaf's
// values.
#pragma once

#include <array>
#include <cstdint>

#include "src/host/features/cpu_model.h"
#include "src/host/features/cpuid.h"

namespace kgpu::features {

// Leaf, subleaf unless it is 0, register.
enum class Word : uint8_t {
  k1Ecx,
  k1Edx,
  k7Ebx,
  k7Ecx,
  k7Edx,
  k7Sub1Eax,
  k7Sub1Edx,
  k7Sub2Edx,
  kDSub1Eax,
  k12Eax,
  k1ESub1Eax,
  k24Ebx,
  kExt1Ecx,
  kExt1Edx,
  kExt7Ebx,
  kExt7Edx,
  kExt8Ebx,
  kExtAEdx,
  kExt1AEax,
  kExt1BEax,
  kExt1FEax,
  kExt21Eax,
  kExt21Ecx,
  kCount,
};

class CpuLeaves {
 public:
  explicit CpuLeaves(CpuidReader& cpuid);

  bool Has(Word word, unsigned bit) const {
    return ((words_[static_cast<size_t>(word)] >> bit) & 1U) != 0;
  }
  // Whether the kernel saves the registers of AVX, or of AVX-512.
  bool has_avx_state() const { return has_avx_state_; }
  bool has_avx512_state() const { return has_avx512_state_; }
  bool has_leaf(uint32_t leaf) const;
  bool is_intel() const { return model_.vendor == "Intel"; }
  bool is_amd() const { return model_.vendor == "AMD"; }
  const CpuModel& model() const { return model_; }
  CpuidRegisters Read(uint32_t leaf, uint32_t subleaf = 0) const {
    return has_leaf(leaf) ? cpuid_.Read(leaf, subleaf) : CpuidRegisters{};
  }

 private:
  void Set(Word word, uint32_t value) { words_[static_cast<size_t>(word)] = value; }
  void LoadFirst();
  void LoadBasic();
  void LoadExtended();
  void LoadState();

  CpuidReader& cpuid_;
  uint32_t last_basic_ = 0;
  uint32_t last_extended_ = 0;
  CpuModel model_;
  bool has_avx_state_ = false;
  bool has_avx512_state_ = false;
  std::array<uint32_t, static_cast<size_t>(Word::kCount)> words_{};
};

}  // namespace kgpu::features
