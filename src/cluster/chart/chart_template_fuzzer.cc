// Any text is a template or an error with a position.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/cluster/chart/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 14) {
    return 0;
  }
  static const boost::json::object kFields = {
      {"Values", {{"a", "text"}, {"b", true}, {"c", {1, 2}}, {"d", {{"e", nullptr}}}}},
      {"Files", {{"files/rules.yaml", "file\n"}}}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rendered =
      kgpu::chart::RenderTemplate(text, "fuzz", kgpu::chart::TemplateValue(kFields));
  // Errors name the place, but for those that the template itself words.
  if (!rendered.ok() && text.find("fail") == std::string_view::npos &&
      !kgpu::Message(rendered.status()).starts_with("fuzz:")) {
    std::abort();
  }
  return 0;
}
