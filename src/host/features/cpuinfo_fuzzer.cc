// /proc/cpuinfo, and the recorded answers of CPUID with every flag that comes of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/host/features/cpu_flags.h"
#include "src/host/features/cpu_info.h"
#include "src/host/features/cpu_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::features;  // NOLINT(google-build-using-namespace): a fuzz target alone
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ParseCpuInfo(text);
  if (ParseCpuList(text).size() > kMostCpus) {
    __builtin_trap();
  }
  if (const auto cpuid = ParseRecordedCpuid(std::string(text)); cpuid.ok()) {
    const CpuLeaves leaves(**cpuid);
    CpuFlags(leaves);
    RdtFlags(leaves);
    SgxMemory(leaves);
    Hypervisor(leaves);
  }
  return 0;
}
