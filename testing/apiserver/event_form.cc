#include "testing/apiserver/event_form.h"

#include <array>
#include <utility>

#include <boost/json.hpp>

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

using Renames = std::array<std::pair<const char*, const char*>, 7>;

// Core's name, the newer API's name.
constexpr Renames kRenames = {{{"involvedObject", "regarding"},
                               {"message", "note"},
                               {"reportingComponent", "reportingController"},
                               {"source", "deprecatedSource"},
                               {"firstTimestamp", "deprecatedFirstTimestamp"},
                               {"lastTimestamp", "deprecatedLastTimestamp"},
                               {"count", "deprecatedCount"}}};

void Rename(json::object& object, const char* from, const char* to) {
  if (json::value* value = object.if_contains(from); value != nullptr) {
    json::value moved = std::move(*value);
    object.erase(from);
    object[to] = std::move(moved);
  }
}

}  // namespace

json::object ToExternal(const Resource& resource, const json::object& stored) {
  json::object object = stored;
  if (resource.form == StoredForm::kCoreEvent) {
    for (const auto& [core, newer] : kRenames) {
      Rename(object, core, newer);
    }
    object["apiVersion"] = resource.ApiVersion();
  }
  return object;
}

json::object ToStored(const Resource& resource, const json::object& external) {
  json::object object = external;
  if (resource.form == StoredForm::kCoreEvent) {
    for (const auto& [core, newer] : kRenames) {
      Rename(object, newer, core);
    }
    object["apiVersion"] = "v1";
  }
  return object;
}

}  // namespace kgpu::apiserver
