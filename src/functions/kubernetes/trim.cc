#include "src/functions/kubernetes/trim.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {

namespace json = boost::json;

json::object* ObjectBelow(json::value& value, std::initializer_list<std::string_view> path) {
  json::value* at = &value;
  for (const std::string_view key : path) {
    json::object* fields = at->if_object();
    at = fields == nullptr ? nullptr : fields->if_contains(doc::View(key));
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at->if_object();
}

void KeepOnly(json::object& object, std::initializer_list<std::string_view> keys) {
  json::object kept;
  for (const std::string_view key : keys) {
    if (json::value* value = object.if_contains(doc::View(key))) {
      kept[doc::View(key)] = std::move(*value);
    }
  }
  object = std::move(kept);
}

const json::value* FindCondition(const json::value& object, std::string_view type) {
  const json::value* list = kube::FindField(object, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) {
    return nullptr;
  }
  const json::array& conditions = list->get_array();
  const auto* found = std::ranges::find_if(conditions, [type](const json::value& condition) {
    return kube::TextField(condition, {"type"}) == type;
  });
  return found == conditions.end() ? nullptr : found;
}

}  // namespace kgpu::functions
