// First byte: the format. What parses must print, and parse again to the same tree; its places must
// be those of a tree of the same shape.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/platform/doc/doc.h"
#include "src/platform/doc/located.h"

namespace {

// Boost.JSON 1.81 reads doubles to within one unit of the last place: those need not come back.
bool HasDouble(const boost::json::value& value) {
  if (const auto* items = value.if_array()) {
    return std::ranges::any_of(*items, HasDouble);
  }
  if (const auto* fields = value.if_object()) {
    return std::ranges::any_of(*fields, [](const auto& field) { return HasDouble(field.value()); });
  }
  return value.is_double();
}

bool HasShapeOf(const kgpu::doc::Place& place, const boost::json::value& value) {
  size_t i = 0;
  if (const auto* items = value.if_array()) {
    return place.children.size() == items->size() &&
           std::ranges::all_of(
               *items, [&](const auto& item) { return HasShapeOf(place.children[i++], item); });
  }
  if (const auto* fields = value.if_object()) {
    return place.children.size() == fields->size() &&
           std::ranges::all_of(*fields, [&](const auto& field) {
             return HasShapeOf(place.children[i++], field.value());
           });
  }
  return place.children.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::doc::Format;
  if (size == 0) {
    return 0;
  }
  const Format format = data[0] % 2 == 0 ? Format::kJson : Format::kYaml;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const kgpu::doc::Limits limits{.bytes = 1 << 16, .depth = 64, .values = 10'000};
  const auto value = kgpu::doc::Parse(text, format, "fuzz", limits);
  const auto located = kgpu::doc::ParseLocated(text, format, "fuzz", limits);
  if (located.ok() != value.ok() || (value.ok() && !HasShapeOf(located->place, *value))) {
    std::abort();
  }
  if (!value.ok() || HasDouble(*value)) {
    return 0;
  }
  for (const Format out : {Format::kJson, Format::kYaml}) {
    const auto again = kgpu::doc::Parse(kgpu::doc::Print(*value, out), out, "again");
    if (!again.ok() || kgpu::doc::PrintLine(*again) != kgpu::doc::PrintLine(*value)) {
      std::abort();
    }
  }
  return 0;
}
