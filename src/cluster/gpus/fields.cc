#include "src/cluster/gpus/fields.h"

#include "src/kube/api/json.h"

namespace kgpu::gpus {

namespace json = boost::json;

const json::object& MapAt(const json::value& from, std::initializer_list<std::string_view> path) {
  static const json::object kNone;
  const json::value* map = kube::FindField(from, path);
  return map != nullptr && map->is_object() ? map->get_object() : kNone;
}

bool FlagAt(const json::value& from, std::initializer_list<std::string_view> path) {
  const json::value* flag = kube::FindField(from, path);
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

std::string_view ViewOf(json::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace kgpu::gpus
