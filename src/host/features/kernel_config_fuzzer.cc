// The same bytes as a kernel's configuration, as one that is packed, and as a kernel's release.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/features/kernel_config.h"
#include "src/host/features/kernel_version.h"
#include "src/host/features/label_text.h"
#include "src/platform/compress/unpack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::features;  // NOLINT(google-build-using-namespace): a fuzz target alone
  constexpr size_t kLimit = size_t{1} << 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto all = ParseKernelConfig(bytes);
  const auto some = FindKernelOptions(bytes, {"A", "NO_HZ"});
  for (const auto& [name, value] : some) {
    const auto found = all.find(name);
    if (found == all.end() || found->second != value) {
      __builtin_trap();
    }
  }
  if (const auto text = kgpu::compress::Gunzip(bytes, kLimit); text.ok()) {
    if (text->size() > kLimit) {
      __builtin_trap();
    }
    ParseKernelConfig(*text);
  }
  const auto parts = ParseKernelVersion(bytes);
  const auto full = parts.find("full");
  // A short release always makes a value that Kubernetes takes.
  if (full == parts.end() || (full->second.size() <= 63 && !IsLabelValue(full->second))) {
    __builtin_trap();
  }
  return 0;
}
