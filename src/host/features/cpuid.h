// The CPUID instruction behind an interface: of the running CPU, or recorded.
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
  // False without such an instruction: on every architecture except x86.
  virtual bool is_available() const = 0;
  // Zeros for a leaf that does not exist.
  virtual CpuidRegisters Read(uint32_t leaf, uint32_t subleaf) = 0;
  // Extended control register 0: which register sets the kernel saves. Only called if CPUID says
  // that the instruction exists.
  virtual uint64_t Xcr0() = 0;
};

// Where a recorded host stores its CPU's answers.
inline constexpr const char* kRecordedCpuid = "cpuid.txt";

// Answers from a text; leaves that it lacks are zero. Errors: InvalidArgument (names the
// line).
StatusOr<std::unique_ptr<CpuidReader>> ParseRecordedCpuid(const std::string& text);

// The recorded answers if the host is a recording, else those of the running CPU. Errors: as
// ParseRecordedCpuid.
StatusOr<std::unique_ptr<CpuidReader>> OpenCpuid(const sys::Root& host);

}  // namespace kgpu::features
