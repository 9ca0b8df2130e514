// A NodeFeature object: what is read is printed so that it reads back the same. As rules: what is
// good of an object's rules is kept.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/labels/node_feature.h"
#include "src/node/labels/rules.h"
#include "src/platform/doc/doc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = kgpu::doc::Parse(text, kgpu::doc::Format::kJson, "o");
  if (!value.ok()) {
    return 0;
  }
  (void)kgpu::labels::ReadRuleObject(*value);
  const auto object = kgpu::labels::ReadNodeFeature(*value);
  if (object.ok()) {
    const auto again = kgpu::labels::ReadNodeFeature(kgpu::labels::PrintNodeFeature(*object));
    if (!again.ok() || !(*again == *object)) {
      std::abort();
    }
  }
  return 0;
}
