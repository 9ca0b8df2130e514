// A template: reading and filling it in must end within its bounds, and print the same twice.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/labels/rule_template.h"
#include "src/platform/gotemplate/template.h"

namespace {

using kgpu::gotemplate::Value;

Value Data() {
  const Value device(Value::Dict{
      {"class", Value("0302")}, {"vendor", Value("10de")}, {"sriov_totalvfs", Value("16")}});
  const Value devices(Value::List{device, device});
  return Value(Value::Dict{{"pci", Value(Value::Dict{{"device", devices}})}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = kgpu::gotemplate::Template::Parse(text, kgpu::labels::RuleLanguage());
  if (!parsed.ok()) {
    return 0;
  }
  const auto output = parsed->Expand(Data());
  const auto again = parsed->Expand(Data());
  if (output.ok() != again.ok() ||
      (output.ok() &&
       (*output != *again || output->size() > kgpu::labels::RuleLanguage().limits.output_bytes))) {
    std::abort();
  }
  if (output.ok()) {
    (void)kgpu::labels::ReadPairs(*output);
  }
  return 0;
}
