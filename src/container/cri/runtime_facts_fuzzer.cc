// A runtime's configuration, which is anybody's JSON: the first line is its version.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/container/cri/runtime_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  const std::string_view version = text.substr(0, line);
  const std::string_view config =
      line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
  for (const std::string_view name : {"containerd", "cri-o", "docker"}) {
    const auto facts = kgpu::cri::JudgeRuntime(name, version, config);
    if (facts.evidence.empty()) {
      __builtin_trap();
    }
  }
  return 0;
}
