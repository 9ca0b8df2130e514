// A checkpoint on a disk, whatever is in it: a state or an error, and a state is read back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/dra/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = kgpu::dra::ParseCheckpoint({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) {
    return 0;
  }
  const auto again = kgpu::dra::ParseCheckpoint(kgpu::dra::PrintCheckpoint(*read));
  if (!again.ok() || *again != *read) {
    abort();
  }
  return 0;
}
