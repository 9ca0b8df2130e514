// First byte: the format. What the reader of files accepts, the reader of objects accepts too.
#include <boost/json/value.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/cluster/policy/gpu_policy.h"
#include "src/platform/doc/doc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 16) {
    return 0;
  }
  const bool is_json = data[0] % 2 == 0;
  const std::string_view file = is_json ? "fuzz.json" : "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto policy = kgpu::policy::ParseGpuPolicy(text, file);
  const auto object =
      kgpu::doc::Parse(text, is_json ? kgpu::doc::Format::kJson : kgpu::doc::Format::kYaml, file);
  if (!object.ok()) {
    return policy.ok() ? (std::abort(), 0) : 0;
  }
  const auto read = kgpu::policy::ReadGpuPolicy(*object);
  if (policy.ok() && (!read.ok() || !(*read == *policy))) {
    std::abort();
  }
  return 0;
}
