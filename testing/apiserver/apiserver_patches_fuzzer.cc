// The patch engines of the stub API server: an object and a patch, one a line each. Whatever a
// client sends, the server answers; what it keeps stays consistent.
#include <boost/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_patches.h"
#include "testing/apiserver/managed_fields.h"
#include "testing/apiserver/resource.h"
#include "testing/apiserver/strategic_patch.h"
#include "testing/apiserver/typed_value.h"

namespace {

namespace json = boost::json;
namespace apiserver = kgpu::apiserver;

json::value Parse(std::string_view text) {
  json::error_code error;
  return json::parse(json::string_view(text.data(), text.size()), error);
}

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Applying the same again changes nothing.
void ApplyTwice(const json::object& live, const json::object& applied,
                const apiserver::Resource& resource) {
  const apiserver::Writer writer{.manager = "fuzz", .subresource = "", .now = "now"};
  const auto once = apiserver::ApplyConfiguration(live, applied, resource, writer, true);
  if (!once.ok()) {
    return;
  }
  const auto twice = apiserver::ApplyConfiguration(*once, applied, resource, writer, true);
  Check(twice.ok() && *twice == *once);
}

void Patch(const json::value& target, const json::value& patch,
           const apiserver::Resource& resource) {
  json::value merged = target;
  apiserver::MergePatch(merged, patch);
  json::value again = merged;
  apiserver::MergePatch(again, patch);
  Check(again == merged);

  json::value operated = target;
  if (!apiserver::JsonPatch(operated, patch).ok()) {
    Check(operated == target);
  }
  if (!target.is_object() || !patch.is_object()) {
    return;
  }
  json::object strategic = target.get_object();
  apiserver::StrategicPatch(strategic, patch.get_object(), resource.schema).IgnoreError();
  Check(apiserver::Compare(target, target, resource.schema).modified.is_empty());
  ApplyTwice(target.get_object(), patch.get_object(), resource);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const apiserver::ResourceTable kResources;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  if (line == std::string_view::npos || size > (size_t{64} << 10)) {
    return 0;
  }
  const json::value target = Parse(text.substr(0, line));
  const json::value patch = Parse(text.substr(line + 1));
  for (const char* kind : {"Node", "Pod"}) {
    Patch(target, patch, *kResources.FindKind("", "v1", kind));
  }
  return 0;
}
