// Removes secrets from any text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "src/diagnose/collect/redact.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::map<std::string, size_t> removed;
  kgpu::collect::RemoveSecrets(text, removed);
  return 0;
}
