// The CPUID instruction as a seam: of the CPU this process runs on, or as it was recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::features {

struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  bool operator==(const CpuidRegisters&) const = default;
};

// Source: Intel SDM volume 2A, CPUID and XGETBV; AMD APM volume 3, appendix E.
class CpuidReader {
 public:
  virtual ~CpuidReader() = default;
  // False where there is no such instruction: on every architecture but x86.
  virtual bool is_available() const = 0;
  // Zeros for a leaf that is not there.
  virtual CpuidRegisters Read(uint32_t leaf, uint32_t subleaf) = 0;
  // Extended control register 0: which register sets the kernel saves. Only asked when CPUID says
  // that the instruction is there.
  virtual uint64_t Xcr0() = 0;
};

// Where a recorded host keeps the answers of its CPU.
inline constexpr const char* kRecordedCpuid = "cpuid.txt";

// Answers out of a text; a leaf that is not in it is zero. Errors: InvalidArgument (names the
// line).
StatusOr<std::unique_ptr<CpuidReader>> ParseRecordedCpuid(const std::string& text);

// The recorded answers of a host that is a recording, else those of the running CPU.
// Errors: as ParseRecordedCpuid.
StatusOr<std::unique_ptr<CpuidReader>> OpenCpuid(const sys::Root& host);

}  // namespace kgpu::features
