// Any bytes as a record of the kernel's log: what is found is inside the record.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/gpu/health/kernel_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  const auto message = kgpu::health::KernelMessage(record);
  if (message && message->size() > size) {
    __builtin_trap();
  }
  const auto fault = kgpu::health::ParseKernelMessage(message.value_or(record));
  if (!fault) {
    return 0;
  }
  const char* begin = record.data();
  if (fault->text.size() > size || fault->text.data() < begin ||
      fault->text.data() + fault->text.size() > begin + size ||
      !kgpu::device::PciBusId::Parse(fault->pci.str()).ok()) {
    __builtin_trap();
  }
  return 0;
}
