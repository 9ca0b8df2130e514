// Any text either compiles or is refused; what compiles gives an answer or an error for a device.
#include <cstdint>
#include <string>
#include <string_view>

#include "src/kube/cel/cel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu;  // NOLINT(google-build-using-namespace): a program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = cel::Program::Compile(text);
  if (!program.ok()) {
    return 0;
  }
  cel::Map own;
  own.fields = {{"type", {std::string("gpu")}}, {"index", {int64_t{3}}}};
  cel::Map attributes;
  attributes.has_every_key = true;
  attributes.fields = {{"d", cel::MapValue(std::move(own))}};
  cel::Map device;
  device.fields = {{"driver", {std::string("d")}},
                   {"attributes", cel::MapValue(std::move(attributes))}};
  const cel::Value value = cel::MapValue(std::move(device));
  (void)program->Matches(value);
  (void)program->Readings(value);
  return 0;
}
